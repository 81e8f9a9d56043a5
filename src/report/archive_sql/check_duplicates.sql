select count(*) as times, sum(one.n - 1) as duplicates,
  sum(case when one.low < one.high and one.low < 1e308 and one.high > -1e308
    then 1 else 0 end) as conflicts
from (
  select {columns}, count(*) as n, min({value}) as low, max({value}) as high
  from {points}
  where {where}
  group by {columns}
  having count(*) > 1
) as one
