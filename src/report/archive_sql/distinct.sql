(
  select {columns}, max({value}) as {value}, count(*) as copies
  from {points}
  where {where}
  group by {columns}
) as one
