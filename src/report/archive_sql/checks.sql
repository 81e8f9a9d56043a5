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

-- rows said
-- Check first: `unplaced` must be 0. The rows of the result must add up to the rows
-- of the files, and `points` is what the statements below add up.

-- duplicates said
-- Check first: `conflicts` must be 0. Of points with the same time, the largest
-- counts. If `times` is 0, the statements without --distinct give the same.

-- crowded said
-- Check first: `crowded` must be 0. If it is not, points may have come twice, or lie
-- within five seconds: print the statements with --distinct, which cost several
-- times as much.

-- lines said
-- Check first: `n` must be the rows of the files, and the `n` of the result must add
-- up to `counted`.

-- copy
copy (
{statement}
) to {folder} (format parquet, compression gzip, row_group_size 61440, partition_by (dt), filename_pattern 'part-{number}-{i}', overwrite_or_ignore true)
