import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { MAX_JOB_LAPSES } from '../../../src/core/rules/sending/retries.ts'
import { allRoutes } from '../../support/conformance.ts'
import { migratedDatabase, oneDialect, temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { startReceiver } from '../../support/receiver.ts'
import { issuedPass } from '../support/passes.ts'
import { spawnProgram } from '../support/program.ts'
import { hostServer } from '../support/server.ts'

const docs = readFileSync(new URL('../../../docs/metrics.md', import.meta.url), 'utf8')

/** The rows of the tables in docs/metrics.md, as `name: type(labels)`. */
const documented = [...docs.matchAll(/^\| `(passes_\w+)` \| (\w+)(?:, \*fleet\*)? \|([\w, ]*)\|/gm)].map(
  ([, name, type, labels]) => `${name}: ${type}(${labels!.trim()})`,
)

const withMetrics = ['--metrics-port', '0']

describe.each(oneDialect)('on %s', (dialect) => {
  test('the served metrics are those in docs/metrics.md, by type and labels', async () => {
    const receiver = await startReceiver()
    const args = [...withMetrics, '--allow-insecure-webhooks', '--rate-limit', '20', '--rate-burst', '20']
    const server = await hostServer({ dialect, args })
    await busy(server, receiver.url)
    const live = await eventually(async () => {
      const found = await families(server.metricsUrl!)
      // Metrics without values, such as discarded jobs, are listed too.
      expect(found.filter(({ labels }) => labels === undefined).map(({ name }) => name)).toEqual([
        'passes_jobs_discarded',
        'passes_jobs_set_aside',
        'passes_jobs_quarantined',
      ])
      return found
    })
    const shown = live.map(({ name, type, labels = ['kind'] }) => `${name}: ${type}(${labels.join(', ')})`)
    expect(shown.sort()).toEqual([...documented].sort())
  })
})

test('metrics have a separate listener on loopback, and no label holds customer data', async () => {
  const server = await hostServer({ args: withMetrics })
  expect(new URL(server.metricsUrl!).hostname).toBe('127.0.0.1')
  expect((await fetch(`${server.url}/metrics`)).status).toBe(404)
  expect((await fetch(server.metricsUrl!.replace('/metrics', '/'))).status).toBe(404)
  expect((await fetch(server.metricsUrl!, { method: 'POST' })).status).toBe(405)

  const headers = { authorization: `Bearer ${server.token}`, 'x-correlation-id': 'planted-correlation' }
  const targets = ['/v1/passes/planted-id', '/planted-path', '/l/planted-link', '/v1/projects?planted=query']
  for (const target of targets) await fetch(server.url + target, { headers })
  await fetch(server.url, { method: 'PLANTED' }).catch(() => undefined)
  const text = await scrape(server.metricsUrl!)
  expect(text).toContain('passes_http_requests_total{method="GET",route="/v1/passes/{id}",status="400"} 1')
  expect(text).toContain('passes_http_requests_total{method="GET",route="unknown",status="404"} 2')
  expect(text).toContain('passes_http_requests_total{method="GET",route="/l/{token}",status="404"} 1')
  expect(text.toLowerCase()).not.toContain('planted')
  expect(text).not.toContain(server.token)
})

test('a port in use ends the start and its process with advice', async () => {
  const other = createServer()
  other.listen(0, '127.0.0.1')
  await once(other, 'listening')
  onTestFinished(() => void other.close())
  const { port } = other.address() as AddressInfo
  const args = ['serve', '--port', '0', '--metrics-port', String(port), '--database', await migratedDatabase('sqlite')]
  const taken = await spawnProgram(args, undefined, { cwd: temporaryFolder() })
  expect([taken.exitCode, taken.stderr]).toEqual([1, expect.stringContaining('--metrics-port')])
})

describe('the example alerts', () => {
  const text = readFileSync(new URL('../../../examples/prometheus/alerts.yml', import.meta.url), 'utf8')
  const rules = text.split('- alert: ').slice(1)
  const alerts = rules.map((rule) => {
    const [, expression] = /expr: ([\s\S]*?)\n +(?:for|labels):/.exec(rule)!
    const metrics = [...expression!.matchAll(/\b(passes_\w+?)(?:_bucket)?\b(?:\{([^}]*)\})?/g)]
    return {
      name: /^\w+/.exec(rule)![0],
      metrics: metrics.map(([, metric, selector = '']) => ({ metric: metric!, selector })),
    }
  })

  test.each(alerts)('$name uses existing metrics, labels, and values', ({ metrics }) => {
    expect(metrics.length).toBeGreaterThan(0)
    for (const { metric, selector } of metrics) {
      const known = documented.find((one) => one.startsWith(`${metric}: `))
      expect(known, metric).toBeDefined()
      for (const [, label, values] of selector.matchAll(/(\w+)(?:=~|!~|!=|=)"([^"]*)"/g)) {
        expect(known).toMatch(new RegExp(`\\b${label}\\b`))
        // HTTP defines the values of status and method.
        if (label === 'status' || label === 'method') continue
        for (const value of values!.split('|')) {
          if (label === 'route') expect(allRoutes.map(({ route }) => route.path)).toContain(value)
          else expect(docs).toContain(`\`${value}\``)
        }
      }
    }
  })

  test.each([
    'passes_database_up',
    'passes_database_writable',
    'passes_database_damaged',
    'passes_clock_skew_seconds',
    'passes_identity_paused',
    'passes_webhooks{state="failing"}',
    'passes_webhooks{state="disabled"}',
    'passes_workspaces_near_limit',
    'passes_limit_refusals_total',
    'passes_rate_limited_requests_total',
    'passes_http_request_duration_seconds{route!="/v1/scans"}',
    'passes_jobs_quarantined',
    'passes_refused',
  ])('include one about %s', (watched) => {
    const all = alerts.flatMap(({ metrics }) => metrics)
    expect(all.map(({ metric, selector }) => (selector ? `${metric}{${selector}}` : metric))).toContain(watched)
  })

  test('name the number of stopped workers after which a job is quarantined', () => {
    expect(MAX_JOB_LAPSES).toBe(4)
    expect(text).toContain('Workers stopped four times under jobs')
    expect(docs).toContain('`quarantined` (lapsed four times)')
  })
})

/** Creates values for all metrics: requests, rejections, issuing, a scan, a notification, a broadcast, a delivery. */
async function busy({ client, url, token }: Awaited<ReturnType<typeof hostServer>>, receiver: string): Promise<void> {
  await client.webhooks.create({ body: { url: receiver, events: ['pass.issued'] } })
  const { id: projectId } = await client.projects.create({ body: { name: 'Tour' } })
  const pass = await issuedPass(client)
  await client.scans.create({ body: { passId: pass.id } })
  await client.notifications.create({ params: { id: pass.id }, body: { body: 'Doors open' } })
  await client.broadcasts.create({ params: { id: projectId }, body: { body: 'Doors open' } })
  // LinkOpen the link asks Google.
  await fetch(pass.hostedLinks.google!, { redirect: 'manual' })
  const headers = { authorization: `Bearer ${token}` }
  // Enough requests above the limit that some are rejected even on a slow machine.
  await Promise.all(Array.from({ length: 200 }, () => fetch(`${url}/v1/tokens/current`, { headers })))
}

async function scrape(metricsUrl: string): Promise<string> {
  const response = await fetch(metricsUrl)
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=/)
  return response.text()
}

/** Returns the metrics of passes with the labels of their values; undefined for metrics without values. */
async function families(metricsUrl: string) {
  const text = await scrape(metricsUrl)
  return [...text.matchAll(/^# TYPE (passes_\w+) (\w+)$/gm)].map(([, name, type]) => {
    const value = new RegExp(`^${name}(?:_sum)?(?:\\{(.*)\\})? `, 'm').exec(text)
    const labels = value && [...(value[1] ?? '').matchAll(/(\w+)="/g)].map(([, label]) => label)
    return { name: name!, type: type!, labels: labels ?? undefined }
  })
}
