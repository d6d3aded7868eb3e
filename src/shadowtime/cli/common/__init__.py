"""What the commands share: options, inputs, outputs, tables, progress."""
