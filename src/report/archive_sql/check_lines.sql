select count(*) as n, sum(case when {counted} then 1 else 0 end) as counted
from (
  select
    {columns}
  from {lines}
) as t
