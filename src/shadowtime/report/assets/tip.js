// What lies under the pointer, beside it.
function makeTip(world) {
  const tip = element('tip');
  return {
    hide() { tip.hidden = true; },
    scrolled() { if (Math.abs(scrollY - this.at) > 2) tip.hidden = true; },
    job(event, panel, box) {
      const run = panel.model.boxes.run[box];
      const job = panel.model.runs.job[run];
      tip.replaceChildren(...jobWords(world, panel, run, job));
      this.place(event);
    },
    values(event, time, values) {
      this.lines(event, moment(time, world.figure.epoch, world.figure.zone), values.map(([policy, text]) =>
        [policyMark(policy), world.summary.policies[policy].name, text]));
    },
    lines(event, heading, values) {
      tip.replaceChildren(node('b', {}, heading), node('dl', { class: 'values' },
        ...values.flatMap(([mark, name, text]) => [
          node('dt', {}, node('i', { class: `swatch ${mark}` }), name), node('dd', {}, text)])));
      this.place(event);
    },
    place(event) {
      tip.hidden = false;
      this.at = scrollY;
      const { width, height } = tip.getBoundingClientRect();
      const x = event.clientX + 16 + width > innerWidth ? event.clientX - 16 - width : event.clientX + 16;
      const y = Math.min(event.clientY + 16, innerHeight - height - 8);
      tip.style.transform = `translate(${Math.max(4, x)}px, ${Math.max(4, y)}px)`;
    },
  };
}
