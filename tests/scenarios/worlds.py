"""Ten-job worlds with a picture each, worked out by hand from the specification.

Both the slow reference and the engine are tested with this list. No number here was taken
from a program: if a picture seems wrong, find the step at which it goes wrong.

In a picture a row is a job with what it needs, a column one tick of time (a second unless
``tick`` says otherwise): ``.`` waits, ``#`` runs, ``x`` runs and is killed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from shadowtime.verify.world import BACKFILLED, HEAD, PREEMPTING, RESERVED, Job, Vector


@dataclass(frozen=True)
class Scenario:
    """One world under one policy of the catalogue, and what must come out.

    ``promised`` is left empty where the policy promises nothing; ``lost`` holds the runs cut
    short by preemption, (start, end) in order.
    """

    name: str
    policy: str
    capacity: Vector
    jobs: list[Job]
    picture: str
    starts: dict[int, int]
    reasons: dict[int, int]
    promised: dict[int, int] = field(default_factory=dict)
    lost: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    tick: int = 1


def job(
    id: int, submit: int, need: Vector, request: int, *, run: int | None = None, user: int = -1
) -> Job:
    """A job that is killed at its request and runs for all of it by default."""
    return Job(id, submit, need, request, request if run is None else run, request, user)


TEN = [
    job(1, 0, (5,), 10, run=6),
    job(2, 1, (6,), 4),
    job(3, 2, (2,), 5),
    job(4, 3, (3,), 3),
    job(5, 4, (1,), 12),
    job(6, 5, (4,), 2),
    job(7, 6, (8,), 3, run=2),
    job(8, 7, (2,), 2),
    job(9, 9, (1,), 4, run=3),
    job(10, 12, (3,), 5),
]

SHORT_AND_LONG = [
    job(1, 0, (4,), 10),
    job(2, 1, (8,), 3),
    job(3, 2, (3,), 6),
    job(4, 2, (2,), 5),
    job(5, 2, (2,), 3),
    job(6, 2, (1,), 8),
    job(7, 3, (2,), 2),
    job(8, 4, (1,), 6),
    job(9, 5, (2,), 3),
    job(10, 9, (1,), 1),
]

TWO_WIDE_ONES = [
    job(1, 0, (6,), 10),
    job(2, 1, (4,), 10, run=8),
    job(3, 2, (7,), 5),
    job(4, 3, (2,), 30),
    job(5, 4, (2,), 6),
    job(6, 5, (1,), 40),
    job(7, 6, (1,), 4),
    job(8, 9, (4,), 9),
    job(9, 11, (3,), 3),
    job(10, 12, (1,), 2),
]

HOURS = [
    job(1, 0, (4,), 14400),
    job(2, 3600, (3,), 28800),
    job(3, 7200, (2,), 3600),
    job(4, 10800, (1,), 1800),
    job(5, 16200, (1,), 7200),
    job(6, 16200, (4,), 3600),
    job(7, 18000, (1,), 900),
    job(8, 21600, (2,), 10800),
    job(9, 25200, (1,), 36000, run=21600),
    job(10, 32400, (1,), 3600),
]

FIGURE_1A = [
    job(1, 0, (2,), 2),
    job(2, 0, (5,), 3),
    job(3, 0, (1,), 2),
]

FIGURE_1B = [
    job(1, 10, (2,), 2, user=1),
    job(2, 10, (5,), 3, user=2),
    job(3, 10, (1,), 2, user=3),
    job(9, 0, (1,), 4, run=2, user=1),
]

FIGURE_1C = [
    job(1, 10, (3,), 5, user=1),
    job(2, 10, (5,), 3, user=2),
    job(3, 10, (1,), 5, user=3),
    job(4, 10, (2,), 6, user=4),
    job(5, 10, (1,), 8, run=6, user=5),
    job(9, 0, (1,), 4, run=2, user=5),
]

PREEMPTION = [
    job(1, 0, (5,), 10, run=6, user=1),
    job(2, 1, (6,), 5, user=2),
    job(3, 2, (2,), 12, user=3),
    job(4, 3, (1,), 6, user=4),
    job(5, 4, (3,), 4, user=5),
    job(6, 5, (4,), 3, user=6),
    job(7, 7, (2,), 5, user=7),
    job(8, 8, (8,), 2, user=8),
    job(9, 9, (1,), 20, run=4, user=9),
    job(10, 12, (1,), 3, user=10),
]

BALANCE = [
    job(1, 0, (6, 2), 10),
    job(2, 1, (6, 6), 5),
    job(3, 2, (2, 0), 5),
    job(4, 2, (1, 4), 5),
    job(5, 2, (4, 4), 5),
    job(6, 3, (1, 1), 7),
    job(7, 4, (3, 2), 20),
    job(8, 6, (1, 3), 3),
    job(9, 11, (8, 1), 2),
    job(10, 13, (1, 8), 3),
]


SCENARIOS = [
    Scenario(
        name="fcfs",
        policy="fcfs",
        capacity=(8,),
        jobs=TEN,
        picture="""
The head blocks all: from 13 on seven processors stand idle, for 7 wants eight.

              0         1         2
              01234567890123456789012345678
   1     5    ######
   2     6     .....####
   3     2      ....#####
   4     3       .......###
   5     1        ......############
   6     4         ......##
   7     8          ................##
   8     2           .................##
   9     1             ...............###
  10     3                ............#####
""",
        starts={1: 0, 2: 6, 3: 6, 4: 10, 5: 10, 6: 11, 7: 22, 8: 24, 9: 24, 10: 24},
        reasons={
            1: HEAD,
            2: RESERVED,
            3: HEAD,
            4: RESERVED,
            5: HEAD,
            6: RESERVED,
            7: RESERVED,
            8: RESERVED,
            9: HEAD,
            10: HEAD,
        },
    ),
    Scenario(
        name="greedy",
        policy="greedy",
        capacity=(8,),
        jobs=TEN,
        picture="""
Every job that fits starts: 7, which wants the whole machine, is overtaken by all.

              0         1
              01234567890123456789
   1     5    ######
   2     6     ........####
   3     2      #####
   4     3       ...###
   5     1        ############
   6     4         ..##
   7     8          ............##
   8     2           ......##
   9     1             ###
  10     3                .#####
""",
        starts={1: 0, 2: 9, 3: 2, 4: 6, 5: 4, 6: 7, 7: 18, 8: 13, 9: 9, 10: 13},
        reasons={
            1: HEAD,
            2: RESERVED,
            3: BACKFILLED,
            4: BACKFILLED,
            5: BACKFILLED,
            6: BACKFILLED,
            7: RESERVED,
            8: BACKFILLED,
            9: BACKFILLED,
            10: BACKFILLED,
        },
    ),
    Scenario(
        name="easy",
        policy="easy",
        capacity=(8,),
        jobs=TEN,
        picture="""
5 runs past the shadow time (10) on an extra processor; at 14 and 15 no job may delay 7.

              0         1         2
              01234567890123456789012
   1     5    ######
   2     6     ......####
   3     2      #####
   4     3       ........###
   5     1        ############
   6     4         ........##
   7     8          ..........##
   8     2           ....##
   9     1             ###
  10     3                ......#####
""",
        starts={1: 0, 2: 7, 3: 2, 4: 11, 5: 4, 6: 13, 7: 16, 8: 11, 9: 9, 10: 18},
        reasons={
            1: HEAD,
            2: RESERVED,
            3: BACKFILLED,
            4: RESERVED,
            5: BACKFILLED,
            6: RESERVED,
            7: RESERVED,
            8: BACKFILLED,
            9: BACKFILLED,
            10: RESERVED,
        },
        promised={1: -1, 2: 10, 3: -1, 4: 11, 5: -1, 6: 13, 7: 16, 8: -1, 9: -1, 10: 19},
    ),
    Scenario(
        name="conservative",
        policy="conservative",
        capacity=(8,),
        jobs=TEN,
        picture="""
1 ends early at 6: the sweep cannot move 2 (4 is promised 7), moves 4, 5 and 6.
At 10 nothing ends or arrives: 2 starts because its promise falls due.

              0         1         2
              0123456789012345678901234
   1     5    ######
   2     6     .........####
   3     2      #####
   4     3       ...###
   5     1        ..############
   6     4         ..##
   7     8          ............##
   8     2           .......##
   9     1             ###
  10     3                ........#####
""",
        starts={1: 0, 2: 10, 3: 2, 4: 6, 5: 6, 6: 7, 7: 18, 8: 14, 9: 9, 10: 20},
        reasons={
            1: HEAD,
            2: RESERVED,
            3: BACKFILLED,
            4: BACKFILLED,
            5: BACKFILLED,
            6: BACKFILLED,
            7: RESERVED,
            8: BACKFILLED,
            9: BACKFILLED,
            10: RESERVED,
        },
        promised={1: 0, 2: 10, 3: 2, 4: 7, 5: 10, 6: 14, 7: 18, 8: 14, 9: 9, 10: 21},
    ),
    Scenario(
        name="conservative-no-compression",
        policy="conservative(compress=no)",
        capacity=(8,),
        jobs=TEN,
        picture="""
Promises stay. At 7 job 8 is promised the hole that 6 could have used; at 9 job 2 fits
around all promises and starts before its own.

              0         1
              01234567890123456789
   1     5    ######
   2     6     ........####
   3     2      #####
   4     3       ...###
   5     1        ..############
   6     4         ........##
   7     8          ............##
   8     2           ##
   9     1             ###
  10     3                .#####
""",
        starts={1: 0, 2: 9, 3: 2, 4: 6, 5: 6, 6: 13, 7: 18, 8: 7, 9: 9, 10: 13},
        reasons={
            1: HEAD,
            2: RESERVED,
            3: BACKFILLED,
            4: BACKFILLED,
            5: BACKFILLED,
            6: RESERVED,
            7: RESERVED,
            8: BACKFILLED,
            9: BACKFILLED,
            10: BACKFILLED,
        },
        promised={1: 0, 2: 10, 3: 2, 4: 7, 5: 10, 6: 14, 7: 22, 8: 7, 9: 9, 10: 13},
    ),
    Scenario(
        name="easy-in-order",
        policy="easy",
        capacity=(8,),
        jobs=SHORT_AND_LONG,
        picture="""
At 2 the backfill candidates go in order of arrival: 3, then 6.

              0         1
              0123456789012345678
   1     4    ##########
   2     8     .........###
   3     3      ######
   4     2      ...........#####
   5     2      ...........###
   6     1      ########
   7     2       .....##
   8     1        .........######
   9     2         ........###
  10     1             #
""",
        starts={1: 0, 2: 10, 3: 2, 4: 13, 5: 13, 6: 2, 7: 8, 8: 13, 9: 13, 10: 9},
        reasons={
            1: HEAD,
            2: RESERVED,
            3: BACKFILLED,
            4: RESERVED,
            5: HEAD,
            6: BACKFILLED,
            7: BACKFILLED,
            8: HEAD,
            9: HEAD,
            10: BACKFILLED,
        },
        promised={1: -1, 2: 10, 3: -1, 4: 13, 5: -1, 6: -1, 7: -1, 8: -1, 9: -1, 10: -1},
    ),
    Scenario(
        name="easy-sjbf",
        policy="easy-sjbf",
        capacity=(8,),
        jobs=SHORT_AND_LONG,
        picture="""
At 2 the shortest go first: 5, then 4; five jobs have run when 2 starts, not four.

              0         1         2
              012345678901234567890
   1     4    ##########
   2     8     .........###
   3     3      ...........######
   4     2      #####
   5     2      ###
   6     1      ...........########
   7     2       ..##
   8     1        .........######
   9     2         ..###
  10     1             #
""",
        starts={1: 0, 2: 10, 3: 13, 4: 2, 5: 2, 6: 13, 7: 5, 8: 13, 9: 7, 10: 9},
        reasons={
            1: HEAD,
            2: RESERVED,
            3: RESERVED,
            4: BACKFILLED,
            5: BACKFILLED,
            6: HEAD,
            7: BACKFILLED,
            8: HEAD,
            9: BACKFILLED,
            10: BACKFILLED,
        },
        promised={1: -1, 2: 10, 3: 13, 4: -1, 5: -1, 6: -1, 7: -1, 8: -1, 9: -1, 10: -1},
    ),
    Scenario(
        name="one-reservation",
        policy="easy",
        capacity=(8,),
        jobs=TWO_WIDE_ONES,
        picture="""
4 does not delay 2 and starts at 3 for thirty seconds; 3, next in line, pays for it.

              0         1         2         3         4         5
              01234567890123456789012345678901234567890123456789012345
   1     6    ##########
   2     4     .........########
   3     7      ...............................#####
   4     2       ##############################
   5     2        ......######
   6     1         ...........########################################
   7     1          ..........####
   8     4             .........#########
   9     3               ................###
  10     1                ........##
""",
        starts={1: 0, 2: 10, 3: 33, 4: 3, 5: 10, 6: 16, 7: 16, 8: 18, 9: 27, 10: 20},
        reasons={
            1: HEAD,
            2: RESERVED,
            3: RESERVED,
            4: BACKFILLED,
            5: BACKFILLED,
            6: BACKFILLED,
            7: BACKFILLED,
            8: BACKFILLED,
            9: BACKFILLED,
            10: BACKFILLED,
        },
        promised={1: -1, 2: 10, 3: 33, 4: -1, 5: -1, 6: -1, 7: -1, 8: -1, 9: -1, 10: -1},
    ),
    Scenario(
        name="two-reservations",
        policy="easy(reserve=2)",
        capacity=(8,),
        jobs=TWO_WIDE_ONES,
        picture="""
3 holds the second reservation at 20: 4 may not start at 3. At 10 job 6 fits beside 3.

              0         1         2         3         4         5
              01234567890123456789012345678901234567890123456789012
   1     6    ##########
   2     4     .........########
   3     7      ................#####
   4     2       ....................##############################
   5     2        ######
   6     1         .....########################################
   7     1          ....####
   8     4             ..............#########
   9     3               ...###
  10     1                ##
""",
        starts={1: 0, 2: 10, 3: 18, 4: 23, 5: 4, 6: 10, 7: 10, 8: 23, 9: 14, 10: 12},
        reasons={
            1: HEAD,
            2: RESERVED,
            3: RESERVED,
            4: RESERVED,
            5: BACKFILLED,
            6: BACKFILLED,
            7: BACKFILLED,
            8: HEAD,
            9: BACKFILLED,
            10: BACKFILLED,
        },
        promised={1: -1, 2: 10, 3: 20, 4: 23, 5: -1, 6: -1, 7: -1, 8: -1, 9: -1, 10: -1},
    ),
    Scenario(
        name="lxfw",
        policy="easy(order=lxfw)",
        capacity=(4,),
        jobs=HOURS,
        tick=900,
        picture="""
A column is a quarter of an hour. At 4 h the short jobs 3 and 4 have overtaken 2;
at 6 h the quarter-hour job 7 stands before 6, which came half an hour earlier.

              0   1   2   3   4   5   6   7   8   9   10  11  12  13  14  15  16  17  18  19
   1     4    ################
   2     3        ................################################
   3     2            ........####
   4     1                ....##
   5     1                      ########
   6     4                      ..................................####
   7     1                        ......#
   8     2                            ................................############
   9     1                                ............................########################
  10     1                                        ####
""",
        starts={
            1: 0,
            2: 18000,
            3: 14400,
            4: 14400,
            5: 16200,
            6: 46800,
            7: 23400,
            8: 50400,
            9: 50400,
            10: 32400,
        },
        reasons={
            1: HEAD,
            2: RESERVED,
            3: RESERVED,
            4: HEAD,
            5: BACKFILLED,
            6: RESERVED,
            7: RESERVED,
            8: RESERVED,
            9: HEAD,
            10: BACKFILLED,
        },
        promised={
            1: -1,
            2: 14400,
            3: 14400,
            4: -1,
            5: -1,
            6: 46800,
            7: 23400,
            8: 50400,
            9: -1,
            10: -1,
        },
    ),
    Scenario(
        name="pv-figure-1a",
        policy="easy",
        capacity=(5,),
        jobs=FIGURE_1A,
        picture="""
EASY with good estimates: 3 is gone when 2 starts; four squares are wasted.

              0
              01234
   1     2    ##
   2     5    ..###
   3     1    ##
""",
        starts={1: 0, 2: 2, 3: 0},
        reasons={1: HEAD, 2: RESERVED, 3: BACKFILLED},
        promised={1: -1, 2: 2, 3: -1},
    ),
    Scenario(
        name="pv-figure-1b",
        policy="easy-last",
        capacity=(5,),
        jobs=FIGURE_1B,
        picture="""
Last Model takes 1 for half as long (9, of the same user, ran half its request): 2 is
promised 11, 3 may not start, six squares are wasted, and 2 starts at 12 all the same.

              0         1
              01234567890123456
   9     1    ##
   1     2              ##
   2     5              ..###
   3     1              .....##
""",
        starts={1: 10, 2: 12, 3: 15, 9: 0},
        reasons={1: HEAD, 2: RESERVED, 3: RESERVED, 9: HEAD},
        promised={1: -1, 2: 11, 3: 15, 9: -1},
    ),
    Scenario(
        name="pv-figure-1b-pv-easy",
        policy="pv-easy",
        capacity=(5,),
        jobs=FIGURE_1B,
        picture="""
PV-EASY ventures 3 into the hole whatever the predictions say.

              0         1
              012345678901234
   9     1    ##
   1     2              ##
   2     5              ..###
   3     1              ##
""",
        starts={1: 10, 2: 12, 3: 10, 9: 0},
        reasons={1: HEAD, 2: RESERVED, 3: BACKFILLED, 9: HEAD},
        promised={1: -1, 2: 11, 3: -1, 9: -1},
    ),
    Scenario(
        name="pv-figure-1c",
        policy="easy-last",
        capacity=(5,),
        jobs=FIGURE_1C,
        picture="""
5 is taken for 4 s and runs 6: the reservation of 2 at 15 is violated by a later job.

              0         1         2
              0123456789012345678901234
   9     1    ##
   1     3              #####
   2     5              ......###
   3     1              #####
   4     2              .........######
   5     1              ######
""",
        starts={1: 10, 2: 16, 3: 10, 4: 19, 5: 10, 9: 0},
        reasons={1: HEAD, 2: RESERVED, 3: BACKFILLED, 4: RESERVED, 5: BACKFILLED, 9: HEAD},
        promised={1: -1, 2: 15, 3: -1, 4: 19, 5: -1, 9: -1},
    ),
    Scenario(
        name="pv-figure-1c-pv-easy",
        policy="pv-easy",
        capacity=(5,),
        jobs=FIGURE_1C,
        picture="""
PV-EASY kills 5 (x: lost) and keeps the promise; 5 starts anew when 2 has ended.

              0         1         2
              012345678901234567890123
   9     1    ##
   1     3              #####
   2     5              .....###
   3     1              #####
   4     2              ........######
   5     1              xxxxx...######
""",
        starts={1: 10, 2: 15, 3: 10, 4: 18, 5: 18, 9: 0},
        reasons={1: HEAD, 2: PREEMPTING, 3: BACKFILLED, 4: RESERVED, 5: HEAD, 9: HEAD},
        promised={1: -1, 2: 15, 3: -1, 4: 18, 5: -1, 9: -1},
        lost={5: [(10, 15)]},
    ),
    Scenario(
        name="pv-easy",
        policy="pv-easy",
        capacity=(8,),
        jobs=PREEMPTION,
        picture="""
At 6 job 2 kills 4, the lowest in the shadow, and spares 3; at 14 job 6 kills 7, at 20
job 8 kills 9 (x: lost).

              0         1         2
              01234567890123456789012345
   1     5    ######
   2     6     .....#####
   3     2      ############
   4     1       xxx.....######
   5     3        .......####
   6     4         .........###
   7     2           ....xxx.#####
   8     8            ............##
   9     1             ........xxx..####
  10     1                ...###
""",
        starts={1: 0, 2: 6, 3: 2, 4: 11, 5: 11, 6: 14, 7: 15, 8: 20, 9: 22, 10: 15},
        reasons={
            1: HEAD,
            2: PREEMPTING,
            3: BACKFILLED,
            4: RESERVED,
            5: HEAD,
            6: PREEMPTING,
            7: RESERVED,
            8: PREEMPTING,
            9: RESERVED,
            10: BACKFILLED,
        },
        promised={1: -1, 2: 10, 3: -1, 4: 11, 5: -1, 6: 14, 7: 15, 8: 20, 9: 22, 10: -1},
        lost={4: [(3, 6)], 7: [(11, 14)], 9: [(17, 20)]},
    ),
    Scenario(
        name="bb",
        policy="bb",
        capacity=(10, 10),
        jobs=BALANCE,
        picture="""
Scores at 2: 3 .80, 4 .38, 5 .25; at 7: 3 .80, 4 .38, 6 .70, 7 .48, 8 .47. One a pass.

              0         1         2         3
              0123456789012345678901234567890123456
   1   6,2    ##########
   2   6,6     .........#####
   3   2,0      ........#####
   4   1,4      .....#####
   5   4,4      #####
   6   1,1       .........#######
   7   3,2        ...........####################
   8   1,3          ......###
   9   8,1               ........................##
  10   1,8                 ......###
""",
        starts={1: 0, 2: 10, 3: 10, 4: 7, 5: 2, 6: 12, 7: 15, 8: 12, 9: 35, 10: 19},
        reasons={
            1: HEAD,
            2: RESERVED,
            3: HEAD,
            4: BACKFILLED,
            5: BACKFILLED,
            6: RESERVED,
            7: RESERVED,
            8: BACKFILLED,
            9: RESERVED,
            10: BACKFILLED,
        },
        promised={1: -1, 2: 10, 3: -1, 4: -1, 5: -1, 6: 12, 7: 15, 8: -1, 9: 35, 10: -1},
    ),
    Scenario(
        name="bb-until-none",
        policy="bb(per_pass=until-none)",
        capacity=(10, 10),
        jobs=BALANCE,
        picture="""
At 7 job 4 goes first (.38), then 8 (.16 by now), then 3; 6 would need extra memory.

              0         1         2         3
              0123456789012345678901234567890123
   1   6,2    ##########
   2   6,6     .........#####
   3   2,0      .....#####
   4   1,4      .....#####
   5   4,4      #####
   6   1,1       .........#######
   7   3,2        ........####################
   8   1,3          .###
   9   8,1               .....................##
  10   1,8                 ......###
""",
        starts={1: 0, 2: 10, 3: 7, 4: 7, 5: 2, 6: 12, 7: 12, 8: 7, 9: 32, 10: 19},
        reasons={
            1: HEAD,
            2: RESERVED,
            3: BACKFILLED,
            4: BACKFILLED,
            5: BACKFILLED,
            6: RESERVED,
            7: HEAD,
            8: BACKFILLED,
            9: RESERVED,
            10: BACKFILLED,
        },
        promised={1: -1, 2: 10, 3: -1, 4: -1, 5: -1, 6: 12, 7: -1, 8: -1, 9: 32, 10: -1},
    ),
    Scenario(
        name="ibb",
        policy="ibb",
        capacity=(10, 10),
        jobs=BALANCE,
        picture="""
3 would worsen the balance at 2 (.75 to .80), 4 improves it (.54). At 20 job 10 fits and
would end in time, but its memory would tip the balance (.60 to .71): refused.

              0         1         2         3
              01234567890123456789012345678901
   1   6,2    ##########
   2   6,6     .........#####
   3   2,0      .............#####
   4   1,4      #####
   5   4,4      .............#####
   6   1,1       #######
   7   3,2        .....####################
   8   1,3          ###
   9   8,1               ..................##
  10   1,8                 ................###
""",
        starts={1: 0, 2: 10, 3: 15, 4: 2, 5: 15, 6: 3, 7: 9, 8: 6, 9: 29, 10: 29},
        reasons={
            1: HEAD,
            2: RESERVED,
            3: RESERVED,
            4: BACKFILLED,
            5: HEAD,
            6: BACKFILLED,
            7: BACKFILLED,
            8: BACKFILLED,
            9: RESERVED,
            10: HEAD,
        },
        promised={1: -1, 2: 10, 3: 15, 4: -1, 5: -1, 6: -1, 7: -1, 8: -1, 9: 29, 10: -1},
    ),
]
