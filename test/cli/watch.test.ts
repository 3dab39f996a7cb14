import { expect, test } from 'vitest'
import { parseMetrics, quantileOf, rateOf, sumOf } from '../../src/cli/watch.ts'

const counted = 'passes_http_requests_total'
const timed = 'passes_http_request_duration_seconds'

function page(fast: number, slow: number, due: number): string {
  return [
    '# HELP passes_http_requests_total Requests answered.',
    `${counted}{method="GET",route="/v1/passes/{id}",status="200"} ${fast}`,
    `${counted}{method="GET",route="/v1/scans",status="503"} ${slow}`,
    ...[0.1, 0.5, '+Inf'].map(
      (le, index) => `${timed}_bucket{le="${le}",route="/"} ${index === 0 ? fast : fast + slow}`,
    ),
    `passes_jobs{queue="issuing",state="due"} ${due}`,
    'nodejs_version_info{version="v20"} 1',
    'half a li',
  ].join('\n')
}

test('of several processes counters add up and gauges do not, and rates are of what came in between', () => {
  const before = parseMetrics([page(10, 0, 5), page(0, 0, 5)], 0)
  const now = parseMetrics([page(25, 1, 7), page(4, 0, 7)], 2_000)
  expect(sumOf(now, 'passes_jobs')).toBe(7)
  expect(rateOf(now, before, counted)).toBe(10)
  expect(rateOf(now, before, counted, ({ status }) => status === '503')).toBe(0.5)
  expect([0.5, 0.95, 1].map((share) => quantileOf(now, before, timed, share))).toEqual([0.1, 0.1, 0.5])
  expect(quantileOf(now, now, timed, 0.5)).toBeNull()
  // A process that began anew counts from 0.
  expect(rateOf(parseMetrics([page(1, 0, 0)], 4_000), now, counted)).toBe(0)
})
