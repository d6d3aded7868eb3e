"""Which settings of Slurm the model follows, which change nothing in it, and which it lacks.

One list for slurm.conf (and ``scontrol show config``), QOS and reservations; what the readers of
partitions, QOS and associations do not know they report themselves. A key in no list is one that
this version does not know.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FOLLOWED = _words(
    """
    accountingstorageenforce clustername defcpupergpu defmempergpu defmempercpu defmempernode
    enforcepartlimits jobdefaults maxmempercpu maxmempernode
    fairsharedampeningfactor grestypes jobrequeue killwait licenses messagetimeout preemptmode
    preempttype prioritycalcperiod prioritydecayhalflife priorityfavorsmall priorityflags
    prioritymaxage prioritytype priorityweightage priorityweightassoc priorityweightfairshare
    priorityweightjobsize priorityweightpartition priorityweightqos priorityweighttres
    schedulerparameters schedulertype selecttype selecttypeparameters slurm_version
    topologyplugin powercap
    """
)
"""Settings that the model follows; of those with several words each is looked at apart."""

HARMLESS = _words(
    """
    authalttypes authaltparameters batchstarttimeout bcastexclude bcastparameters boot_time
    clifilterparameters clifilterplugins communicationparameters controlmachine controladdr
    corespecplugin cpufreqdef cpufreqgovernors credtype cryptotype dataparserparameters
    debugflags disablerootjobs eiotimeout epilog epilogmsgtime epilogslurmctld extsensorsfreq
    extsensorstype firstjobid getenvtimeout gpufreqdef groupupdateforce groupupdatetime hash_val
    hashplugin httpparsertype inactivelimit interactivestepoptions jobcredentialprivatekey
    jobcredentialpublickey jobcredentialpubliccertificate jobcontainertype jobfileappend
    jobsubmitplugins killonbadexit launchparameters launchtype logtimeformat maildomain mailprog
    maxarraysize maxbatchrequeue maxdbdmsgs maxjobcount maxjobid maxnodecount maxstepcount
    maxtaskspernode minjobage mpidefault mpiparams multiple_slurmd namespacetype next_job_id
    overtimelimit plugindir plugstackconfig prepplugins prepparameters privatedata proctracktype
    prolog prologepilogtimeout prologflags prologslurmctld propagateprioprocess
    propagateresourcelimits propagateresourcelimitsexcept reconfigflags requeueexit
    requeueexithold returntoservice routeplugin scronparameters slurm_conf srunportrange
    srunepilog srunprolog statesavelocation switchparameters switchtype taskepilog taskplugin
    taskpluginparam taskprolog tcptimeout tmpfs trackwckey treewidth unkillablestepprogram
    unkillablesteptimeout urlparsertype usepam vsizefactor waittime x11parameters include
    jobcheckpointdir keepalivetime msgaggregationparams resvepilog resvprolog priorityparameters
    prioritysitefactorparameters mcsparameters
    """
)
"""Settings that change neither when nor where a job runs, or whose effect is in the log itself."""
HARMLESS_BEGINS = (
    "accountingstor", "acctgather", "auth", "backup", "cert", "healthcheck", "jobacct", "jobcomp",
    "metrics", "pmix", "slurmctld", "slurmd", "slurmsched", "slurmuser", "slurmrest", "tls",
)  # fmt: skip

LACKING: Mapping[str, str] = {
    "allowspecresourcesusage": "no", "burstbuffertype": "(null)", "completewait": "0",
    "dependencyparameters": "(null)", "federationparameters": "(null)",
    "licenseparameters": "(null)", "mcsplugin": "(null)", "nodefeaturesplugins": "(null)",
    "powerparameters": "(null)",
    "powerplugin": "(null)", "preemptexempttime": "00:00:00", "preemptparameters": "(null)",
    "prioritysitefactorplugin": "(null)", "priorityusageresetperiod": "none",
    "rebootprogram": "(null)", "resumefailprogram": "(null)", "resumeprogram": "(null)",
    "resumerate": "300", "resumetimeout": "60", "resvoverrun": "0", "schedulertimeslice": "30",
    "suspendexcnodes": "(null)", "suspendexcparts": "(null)", "suspendexcstates": "(null)",
    "suspendprogram": "(null)", "suspendrate": "60", "suspendtime": "infinite",
    "suspendtimeout": "30", "topologyparam": "(null)",
}  # fmt: skip
"""Settings that may decide and are not modelled, with the value at which they do nothing."""
WITH_SUSPEND = frozenset(("resumerate", "resumetimeout", "suspendrate", "suspendtimeout"))
"""Without effect unless nodes are powered down after SuspendTime."""
NOTHING = frozenset(("", "(null)", "none", "no", "n/a", "0", "off", "-1"))

PASS_TIME = _words(
    """
    bf_continue bf_max_time bf_yield_interval bf_yield_rpc_cnt bf_yield_sleep
    build_queue_timeout defer defer_batch max_rpc_cnt max_sched_time sched_min_interval
    """
)
"""SchedulerParameters about the time that passes take: here they take none."""
OTHER_PARAMETERS = _words(
    """
    bf_licenses disable_hetjob_steps disable_job_shrink disable_send_gids enable_hetjob_steps
    enable_job_state_cache enable_user_top ignore_prefer_validation max_script_size
    max_submit_line_size no_env_cache nohold_on_prolog_fail requeue_setup_env_fail
    salloc_wait_nodes sbatch_wait_nodes send_gids no_backup_scheduling max_depend_depth
    """
)
"""SchedulerParameters that do not decide when a recorded job starts."""

QOS_FLAGS = _words(
    """
    denyonlimit requirereservation requiresreservation deleted
    noreserve overpartqos partitionmaxnodes partitionminnodes partitiontimelimit
    """
)
"""Flags of a QOS that reject jobs, which are then in no log, and those that are followed.

spec: slurm 6.7. The others are not modelled."""
RESERVATION_FLAGS = frozenset(
    ("flex", "magnetic", "promiscuous", "replace", "replace_down", "time_float", "purge_comp")
)
"""Flags of a reservation that may decide and are not modelled."""


def unfollowed(config: Mapping[str, str]) -> Iterator[str]:
    """Settings that may decide and are not modelled, and those that are not known.

    Examples
    --------
    >>> list(unfollowed({"CompleteWait": "10 sec", "ResumeTimeout": "300 sec", "Warp": "9"}))
    ['CompleteWait=10 sec', 'Warp=9 (unknown)']
    """
    low = {key.lower(): value.strip() for key, value in config.items()}
    asleep = low.get("suspendtime", "infinite").lower() in ("infinite", "-1", "0", "none")
    for key, value in config.items():
        name, said = key.lower().partition("[")[0], value.strip().lower()  # Prolog[0]
        if name in FOLLOWED or name in HARMLESS or name.startswith(HARMLESS_BEGINS):
            continue
        usual = LACKING.get(name)
        if said in NOTHING or (asleep and name in WITH_SUSPEND):
            continue
        if usual is None:
            yield f"{key}={value.strip()} (unknown)"
        elif said.partition(" ")[0] != usual and not (name == "mcsplugin" and "none" in said):
            yield f"{key}={value.strip()}"


def lacking_parameters(words: Iterable[str]) -> list[str]:
    """Of SchedulerParameters that have no effect here, those that may have one on the site.

    Examples
    --------
    >>> lacking_parameters(["max_rpc_cnt", "bf_hetjob_prio"])
    ['bf_hetjob_prio']
    """
    return [word for word in words if word not in PASS_TIME and word not in OTHER_PARAMETERS]
