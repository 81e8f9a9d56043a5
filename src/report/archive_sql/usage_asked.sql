select {machine_out}, {asked} as asked, cast(300 as {bigint}) as period_seconds, {dt} as dt
from (
  select {machine}, {day} as day
  from {periods} as p
  group by {by_machine}, {day}
) as g
