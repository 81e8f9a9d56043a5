select count(*) as times, sum(one.n - 1) as duplicates,
  sum(case when one.low < one.high and one.low < 1e308 and one.high > -1e308
    or one.first_name <> one.last_name then 1 else 0 end) as conflicts
from (
  select count(*) as n, min({value}) as low, max({value}) as high,
    min({metric_column}) as first_name, max({metric_column}) as last_name
  from {points}
  where {where}
  group by {groups}
  having count(*) > 1
) as one
