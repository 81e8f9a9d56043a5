(
  select {columns}, max({value}) as {value}, count(*) as copies
  from {points}
  where {where}
  group by {groups}
) as one
