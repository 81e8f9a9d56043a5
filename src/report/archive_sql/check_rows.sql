select cast({metric_column} as {text}) as metric,
  count(*) as n,
  sum(case when {placed} then 0 else 1 end) as unplaced,
  sum(case when {placed} and {value_column} is null then 1 else 0 end) as absent,
  sum(case when {condition} then 1 else 0 end) as points,
  min({second}) as earliest,
  max({second}) as latest
from {points}
group by {metric_column}
