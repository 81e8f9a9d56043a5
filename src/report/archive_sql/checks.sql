-- rows
select cast(p.name as {text}) as metric,
  count(*) as n,
  sum(case when p.is_placed then 0 else 1 end) as unplaced,
  sum(case when p.is_placed and p.value is null then 1 else 0 end) as absent,
  sum(case when p.is_wanted then 1 else 0 end) as points,
  min(p.second) as earliest,
  max(p.second) as latest
from (
{points}
) as p
group by p.name

-- crowded
select coalesce(sum(p.crowded), 0) as crowded
from {periods} as p

-- duplicates
select count(*) as times, sum(twice.n - 1) as duplicates,
  sum(case when twice.low < twice.high and twice.low < 1e308 and twice.high > -1e308
    or twice.first_name <> twice.last_name then 1 else 0 end) as conflicts
from (
  select count(*) as n, min(p.value) as low, max(p.value) as high,
    min(p.name) as first_name, max(p.name) as last_name
  from (
{points}
  ) as p
  where p.is_wanted
  group by p.account, p.region, p.instance, p.gpu, p.metric, p.second
  having count(*) > 1
) as twice

-- lines
select count(*) as n, sum(case when {counted} then 1 else 0 end) as counted
from (
  select
    {columns}
  from {lines}
) as t
