import { describe, expect, test } from 'vitest'
import { ScanItem } from '../../../src/core/contract/schemas/scan-shapes.ts'
import { dialects } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { publishTemplate } from '../support/passes.ts'
import { run } from '../support/program.ts'
import { hostServer, sharedServer, type TestServer } from '../support/server.ts'

async function json(server: TestServer, ...args: string[]) {
  const { exitCode, stdout } = await run([...args, '--json'], server)
  return { exitCode, value: JSON.parse(stdout) }
}

async function issuedPass({ client }: TestServer): Promise<string> {
  const templateId = await publishTemplate(client)
  const { id } = await client.passes.create({ body: { externalPassId: 'T-1', label: 'Ada Lovelace', templateId } })
  await eventually(async () => expect((await client.passes.get({ params: { id } })).status).toBe('ISSUED'))
  return id
}

// The command sees HTTP only; what each database answers is tested with the interface.
describe.each(dialects.slice(1))('on %s', (dialect) => {
  const shared = sharedServer({ dialect })

  test('a pass is explained, and its scans are listed, read and counted', async () => {
    const server = await shared()
    const passId = await issuedPass(server)
    const context = { scanContextKey: 'day 1' }
    const { scan } = await server.client.scans.create({ body: { passId, deviceId: 'gate-1', ...context } })
    await server.client.scans.create({ body: { passId, ...context } })

    const explain = ['pass', 'explain', 'T-1', '--external', '--context']
    const [before, used, denied, all, got, stats, byProject] = await Promise.all([
      json(server, ...explain, 'day 2'),
      run([...explain, 'day 1'], server),
      json(server, 'scans', 'list', '--pass', 'T-1', '--external', '--result', 'denied'),
      run(['scans', 'list', '--all', '--json'], server),
      json(server, 'scans', 'get', scan.id),
      json(server, 'scans', 'stats', '--context', 'day 1'),
      json(server, 'scans', 'stats', '--group-by', 'project'),
    ])
    expect(before).toMatchObject({ exitCode: 0, value: { passId, result: 'accepted', reasonCode: 'valid' } })
    expect(used.stdout).toMatch(/^NO: duplicate\n/)
    expect(used.stdout).toMatch(/^✗ not scanned yet in this context {2}accepted in context 1, first at /m)
    expect(denied.value).toMatchObject({ total: 1, items: [{ reason: 'already_used', passId }] })
    const items = all.stdout.split('\n').map((line) => {
      const { label, door, ...item } = JSON.parse(line)
      expect([label, door]).toEqual(['Ada Lovelace', null])
      return ScanItem.parse(item)
    })
    expect([items.map(({ result }) => result), all.stderr]).toEqual([['denied', 'accepted'], '2 scans'])
    expect(got).toEqual({ exitCode: 0, value: items[1] })
    const figures = { totalPasses: 1, redeemed: 1, open: 0, totalScans: 2, totalDenied: 1 }
    expect([stats.value, byProject.value.items]).toMatchObject([figures, [figures]])
  })

  test('a scan is undone once, with --yes without a terminal, and the pass is accepted again', async () => {
    const server = await shared()
    const passId = await issuedPass(server)
    const { scan } = await server.client.scans.create({ body: { passId } })
    expect(await json(server, 'scans', 'reverse', scan.id)).toMatchObject({ exitCode: 2 })
    const reverse = ['scans', 'reverse', scan.id, '--yes', '--reason', 'wrong person', '--external-ref', 'undo-1']
    const undone = await json(server, ...reverse)
    expect(undone).toMatchObject({ exitCode: 0, value: { result: 'reversal', idempotentReplay: false } })
    const [again, other, shown] = await Promise.all([
      json(server, ...reverse),
      json(server, 'scans', 'reverse', scan.id, '--yes'),
      run(['scans', 'get', undone.value.scan.id], server),
    ])
    expect(again.value).toMatchObject({ idempotentReplay: true })
    expect(other).toMatchObject({ exitCode: 1, value: { error: { code: 'CONFLICT' } } })
    expect(shown.stdout).toContain(`Reverses     ${scan.id}\nBecause      wrong person`)
    expect(await server.client.scans.create({ body: { passId } })).toMatchObject({ result: 'accepted' })
  })

  test('an operator forbids scanning offline and allows it again while the server runs', async () => {
    const server = await hostServer({ dialect })
    const offline = (state: string) =>
      run(['workspace', 'offline-scanning', 'default', state, '--json'], undefined, {
        env: { PASSES_DATABASE_URL: server.database },
      })
    const snapshot = () => server.client.scanner.snapshot()
    expect(await snapshot()).toMatchObject({ items: [], hasMore: false })
    expect(JSON.parse((await offline('off')).stdout)).toMatchObject({ name: 'default', offlineScanning: false })
    const rejection = { status: 403, code: 'SCANNER_OFFLINE_DISABLED' }
    await eventually(() => expect(snapshot()).rejects.toMatchObject(rejection))
    expect((await offline('maybe')).exitCode).toBe(2)
    expect((await offline('on')).exitCode).toBe(0)
    await eventually(async () => expect(await snapshot()).toMatchObject({ items: [] }))
  })

  test('an empty ledger prints advice, and an unknown ID exits with 1', async () => {
    const server = await shared()
    expect(await json(server, 'scans', 'get', '0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10')).toMatchObject({
      exitCode: 1,
      value: { error: { code: 'NOT_FOUND' } },
    })
    expect(await json(server, 'pass', 'explain', 'nobody', '--external')).toMatchObject({
      exitCode: 1,
      value: { error: { code: 'PASS_NOT_FOUND' } },
    })
    const empty = await run(['scans', 'list'], server)
    expect([empty.stdout, empty.stderr]).toEqual(['', 'There is no scan yet. Next: passes scan'])
  })
})
