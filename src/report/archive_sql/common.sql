-- hours
      select p.account, p.region, p.instance, p.gpu, p.metric, {hour} as period,
        sum(p.n) as n, sum(p.whole) as whole, sum(p.part) as part, {drops}
      from {periods} as p
      group by p.account, p.region, p.instance, p.gpu, p.metric, {hour}

-- hour
cast(floor(cast(p.period as double) / 3600) as bigint) * 3600

-- dropped
cast(g.not_a_number as bigint) as not_a_number,
  cast(g.negative as bigint) as negative,
  cast(g.over_100 as bigint) as over_100,
  cast(g.duplicate as bigint) as duplicate,
  cast(0 as bigint) as future,
  {dt} as dt

-- drops
sum(p.not_a_number) as not_a_number,
    sum(p.negative) as negative, sum(p.over_100) as over_100, sum(p.duplicate) as duplicate

-- machine
cast(g.account as {text}) as account, cast(g.region as {text}) as region,
  cast(g.instance as {text}) as instance

-- day
cast(floor(cast(p.period as double) / 86400) as bigint)

-- mean
{total} / p.n

-- total
(cast(p.whole as double) + cast(p.part as double) / 1099511627776)
