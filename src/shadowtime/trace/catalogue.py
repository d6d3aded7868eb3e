"""Logs of the Parallel Workloads Archive: where each is, and what is known about its content."""

from __future__ import annotations

import difflib

from shadowtime.errors import UsageError

ARCHIVE = "https://www.cs.huji.ac.il/labs/parallel/workload/"

FOLDERS = {
    "NASA-iPSC-1993-3.1-cln": "l_nasa_ipsc",
    "LANL-CM5-1994-4.1-cln": "l_lanl_cm5",
    "SDSC-Par-1995-3.1-cln": "l_sdsc_par",
    "SDSC-Par-1996-3.1-cln": "l_sdsc_par",
    "CTC-SP2-1995-2": "l_ctc_sp2",
    "CTC-SP2-1996-3.1-cln": "l_ctc_sp2",
    "LLNL-T3D-1996-2": "l_llnl_t3d",
    "KTH-SP2-1996-2.1-cln": "l_kth_sp2",
    "SDSC-SP2-1998-4.2-cln": "l_sdsc_sp2",
    "LANL-O2K-1999-2": "l_lanl_o2k",
    "OSC-Clust-2000-3.1-cln": "l_osc",
    "SDSC-BLUE-2000-4.2-cln": "l_sdsc_blue",
    "Sandia-Ross-2001-1.1-cln": "l_sandia_ross",
    "HPC2N-2002-2.2-cln": "l_hpc2n",
    "DAS2-fs0-2003-1": "l_das2",
    "DAS2-fs1-2003-1": "l_das2",
    "DAS2-fs2-2003-1": "l_das2",
    "DAS2-fs3-2003-1": "l_das2",
    "DAS2-fs4-2003-1": "l_das2",
    "SDSC-DS-2004-2.1-cln": "l_sdsc_ds",
    "LPC-EGEE-2004-1.2-cln": "l_lpc",
    "LCG-2005-1": "l_lcg",
    "SHARCNET-2005-2": "l_sharcnet",
    "SHARCNET-Whale-2006-2": "l_sharcnet",
    "LLNL-uBGL-2006-2": "l_llnl_ubgl",
    "LLNL-Atlas-2006-2.1-cln": "l_llnl_atlas",
    "LLNL-Thunder-2007-1.1-cln": "l_llnl_thunder",
    "CIEMAT-Euler-2008-1": "l_ciemat_euler",
    "ANL-Intrepid-2009-1": "l_anl_int",
    "METACENTRUM-2009-2": "l_metacentrum",
    "PIK-IPLEX-2009-1": "l_pik_iplex",
    "RICC-2010-2": "l_ricc",
    "CEA-Curie-2011-2.1-cln": "l_cea_curie",
    "Intel-NetbatchA-2012-1": "l_intel_netbatch",
    "Intel-NetbatchB-2012-1": "l_intel_netbatch",
    "Intel-NetbatchC-2012-1": "l_intel_netbatch",
    "Intel-NetbatchD-2012-1": "l_intel_netbatch",
    "METACENTRUM-2013-3": "l_metacentrum2",
    "UniLu-Gaia-2014-2": "l_unilu_gaia",
    "KIT-FH2-2016-1": "l_kit_fh2",
}
"""By name: the cleaned version wherever the archive offers one."""

JOBS = {
    "CTC-SP2-1996-3.1-cln": "6e50d3cda143f0f6114463bfdf1e514d62a3194888f769943ffedd5302f7d93b",
    "KTH-SP2-1996-2.1-cln": "6e3c5fcc8e06e00414b2c084acb60d8837089895bee0dc4a9e3ef2fd2973f985",
    "LANL-CM5-1994-4.1-cln": "8028fd56c4a2d5aed7ffe1bb98b8b70d4ef8e821b5f98739ad699c98dc669307",
    "SDSC-BLUE-2000-4.2-cln": "efe761dec69099e0228a2abee6f6710387ebc0931110115298548c144c58bf0e",
    "SDSC-DS-2004-2.1-cln": "5c89eb18b75e0ebaf1dad4346606e3026675f50daab4940bb72367694e96b6ef",
    "SDSC-SP2-1998-4.2-cln": "9236774fb4e398c41c773bd17e41d299d91a445b8042f82419d06db1253ea7a3",
}
"""Digests of the jobs (see ``jobs_digest``) of the logs whose published content we know."""


def find(name: str) -> str:
    """The path below the archive of a log: by its name, the beginning of it, or as folder/file.

    Examples
    --------
    >>> find("kth")
    'l_kth_sp2/KTH-SP2-1996-2.1-cln.swf.gz'
    >>> find("l_new/NEW-2030-1.swf.gz")
    'l_new/NEW-2030-1.swf.gz'
    """
    word = name.strip().removesuffix(".gz").removesuffix(".swf")
    if "/" in word:
        if word.startswith("/") or ".." in word.split("/") or "//" in word or "\\" in word:
            raise UsageError(f"{name!r} is not a log below the archive: write folder/file.swf.gz")
        return name.strip()
    lower = {known.lower(): known for known in FOLDERS}
    if word.lower() in lower:
        found = [lower[word.lower()]]
    else:
        found = [known for key, known in lower.items() if word and key.startswith(word.lower())]
    if len(found) == 1:
        return f"{FOLDERS[found[0]]}/{found[0]}.swf.gz"
    if found:
        raise UsageError(f"{name!r} names several logs: {', '.join(found)}")
    near = difflib.get_close_matches(word.lower(), list(lower), n=3, cutoff=0.3)
    near_names = [lower[key] for key in near] or list(FOLDERS)[:3]
    raise UsageError(
        f"no log {name!r} is known; near ones: {', '.join(near_names)}. Any other file of the "
        f"archive can be named as folder/file.swf.gz"
    )
