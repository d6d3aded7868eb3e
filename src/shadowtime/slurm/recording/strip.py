"""A recording reduced to what a site can export: what replays of recordings are judged by."""

from __future__ import annotations

import shutil
from pathlib import Path

from shadowtime.cluster.site_folder import FILES
from shadowtime.slurmtext.fields import lines_of
from shadowtime.slurmtext.sacct_export import fields_of, rewritten
from shadowtime.slurmtext.sacct_rows import BETWEEN


def strip(recording: Path, folder: Path, *, submit_line: bool = True) -> Path:
    """The site folder of a recording: what `pull` collects from a site, and nothing else.

    The submissions (submits.psv, which no site has) become sacct's SubmitLine, or are left out as
    on a site that does not keep it.
    """
    folder.mkdir(parents=True)
    for names in FILES.values():
        if (recording / names[0]).is_file():
            shutil.copyfile(recording / names[0], folder / names[0])
    text = (recording / "jobs.psv").read_text()
    submits = recording / "submits.psv"
    if submit_line and submits.is_file() and "SubmitLine" not in text.partition("\n")[0]:
        _, *rows = lines_of(submits.read_text())
        words = {row.split("|", 4)[1]: row.split("|", 4)[4] for row in rows}
        head, *jobs = lines_of(rewritten(text, path=str(recording / "jobs.psv")))
        made = [f"{head}{BETWEEN}SubmitLine"]
        for line, fields in zip(jobs, fields_of(head, jobs), strict=True):
            job = fields.get("jobid", "").partition("_")[0]
            made.append(f"{line}{BETWEEN}" + (f"sbatch {words[job]}" if job in words else ""))
        text = "".join(f"{line}\n" for line in made)
    elif not submit_line:
        lines = [one.split(BETWEEN) for one in lines_of(rewritten(text, path=str(recording)))]
        place = lines[0].index("SubmitLine") if "SubmitLine" in lines[0] else len(lines[0])
        text = "".join(f"{BETWEEN.join(one[:place] + one[place + 1 :])}\n" for one in lines)
    (folder / "jobs.psv").write_text(text)
    return folder
