import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import type { Pass } from '../../../src/core/contract/passes.ts'
import { deviceDigest } from '../../../src/core/ids.ts'
import { sweep } from '../../../src/server/background/maintenance.ts'
import { MAX_LOGS_OF_PASS, MAX_LOGS_OF_WORKSPACE } from '../../../src/storage/devices/device-logs-repository.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { dialects } from '../../support/databases.ts'
import { issuedPass } from '../fixtures.ts'

const { wallets } = contract
const TYPE = 'pass.test.api'

/** The message that iOS logs when a registration fails. */
const registerTask = (serial: string, type = TYPE) =>
  `Register task (for device 8f3a61b0c5d2, pass type ${type}, serial number ${serial}; with web service url ` +
  'https://example.com/apple) encountered error: Unexpected response code 401'
const getTask = (serial: string, type = TYPE) =>
  `Get pass task (pass type ${type}, serial number ${serial}, if-modified-since (null); with web service url ` +
  'https://example.com/apple) encountered error: Unexpected response code 503'

describe.each(dialects)('device logs on %s', (dialect) => {
  const api = useApi(dialect)

  const write = async (...logs: string[]) =>
    expect((await api.send('POST', '/apple/v1/log', { body: { logs } })).status).toBe(200)
  const list = (workspace: TestWorkspace, query: object = {}) => workspace.ok(wallets.logs, { query })
  const messages = async (workspace: TestWorkspace, query: object = {}) =>
    (await list(workspace, query)).items.map(({ message }) => message)
  const counted = async () => {
    const { values } = await api.services.metrics.deviceLogs.get()
    return Object.fromEntries(values.map(({ labels, value }) => [labels.about, value]))
  }

  test('a message that names a pass is visible to its workspace only, without the device ID', async () => {
    const [workspace, other] = [await api.workspace(), await api.workspace()]
    const pass = await issuedPass(workspace)
    await write(registerTask(pass.id))
    api.advance(1)
    await write(
      getTask(pass.id),
      `Web service error for ${TYPE} (https://example.com): Server requested update to serial number '${pass.id}', but the pass was unmodified.`,
    )
    const { items, total } = await list(workspace)
    expect(total).toBe(3)
    const about = { passId: pass.id, externalPassId: pass.externalPassId }
    const digest = deviceDigest(workspace.id, '8f3a61b0c5d2')
    expect(items).toMatchObject([
      { ...about, device: null, at: api.now.toISOString(), message: expect.stringContaining('unmodified') },
      { ...about, device: null, message: getTask(pass.id) },
      { ...about, device: digest, message: expect.stringContaining(`for device ${digest}, pass type`) },
    ])
    expect(JSON.stringify(items)).not.toContain('8f3a61b0c5d2')
    expect((await list(other)).items).toEqual([])
    const first = await list(workspace, { limit: 2 })
    const second = await list(workspace, { limit: 2, cursor: first.nextCursor! })
    expect([...first.items, ...second.items]).toEqual(items)
    const url = 'https://example.com/apple/v1/devices/8f3a61b0c5d2/registrations'
    api.advance(1)
    await write(`Web service error for ${TYPE} (${url}): serial number '${pass.id}' was not expected`)
    expect((await messages(workspace))[0]).toContain(`/devices/${digest}/registrations`)
    expect(await messages(workspace, { passId: [(await issuedPass(workspace)).id] })).toEqual([])
    expect(await messages(workspace, { passId: [pass.id], projectId: [pass.id] })).toEqual([])
  })

  test('a message that names no known pass is written to the server log only', async () => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace)
    const warn = vi.spyOn(api.services.log, 'warn')
    onTestFinished(() => warn.mockRestore())
    const before = await counted()
    const strange = [
      'The phone is warm',
      `Get serial #s task (for device 8f3a61b0c5d2, pass type ${TYPE}, last updated (null)) encountered error`,
      getTask(pass.id, 'pass.of.another'),
      getTask('01985f0c-7a10-7000-8000-00000000002e'),
      `About serial number ${pass.id}`,
    ]
    await write(...strange)
    expect((await list(workspace)).items).toEqual([])
    expect(warn.mock.calls.map(([facts]) => (facts as unknown as { message: string }).message)).toEqual(strange)
    const after = await counted()
    expect(after.unknown! - (before.unknown ?? 0)).toBe(5)
    expect(after.pass).toBe(before.pass)
  })

  test('accepts invalid bytes, removes control characters, and cuts a message at 500 characters', async () => {
    const workspace = await api.workspace()
    const pass = await issuedPass(workspace)
    await write(`${getTask(pass.id)}\u0000\u001b[2J\n${'x'.repeat(2000)}\ud800`, `serial number '\u0000' of ${TYPE}`)
    const [message, ...others] = await messages(workspace)
    expect(others).toEqual([])
    expect(message).toHaveLength(500)
    expect(message).not.toMatch(/\p{Cc}/u)
  })

  test('a client that knows one pass can fill the log of that pass only', async () => {
    const workspace = await api.workspace()
    const [noisy, quiet] = [await issuedPass(workspace), await issuedPass(workspace)]
    await write(getTask(quiet.id))
    const about = ({ id }: Pass, n: number) => ({ passId: id, device: null, message: `${n}` })
    const insert = (pass: Pass, from: number, count: number) =>
      api.services.store.transaction((tx) =>
        tx.deviceLogs.insert(
          workspace.id,
          Array.from({ length: count }, (_, n) => about(pass, from + n)),
          api.now,
        ),
      )
    for (let from = 0; from < 120; from += 5) await insert(noisy, from, 5)
    const kept = await list(workspace, { limit: 100, passId: [noisy.id] })
    expect(kept.items.map(({ message }) => Number(message))).toEqual(
      Array.from({ length: MAX_LOGS_OF_PASS }, (_, n) => 119 - n),
    )
    expect(await messages(workspace, { passId: [quiet.id] })).toEqual([getTask(quiet.id)])
  })

  test('a workspace keeps the newest messages; erasing a pass and 30 days delete them', async () => {
    const workspace = await api.workspace()
    const [pass, another] = [await issuedPass(workspace), await issuedPass(workspace)]
    const { writer } = api.database
    const hex = (n: number) => n.toString(16).padStart(12, '0')
    const rows = Array.from({ length: MAX_LOGS_OF_WORKSPACE + 10 }, (_, n) => ({
      id: `00000000-0000-7000-8000-${hex(n)}`,
      workspace_id: workspace.id,
      // The logs of several passes, each of them small.
      pass_id: `00000000-0000-7000-9000-${hex(n)}`,
      message: 'old',
    }))
    await writer.batchInsert('device_logs', rows, 500)
    await write(getTask(pass.id), getTask(another.id))
    const count = async () =>
      Number((await writer('device_logs').where({ workspace_id: workspace.id }).count({ n: '*' }).first())!.n)
    expect(await count()).toBe(MAX_LOGS_OF_WORKSPACE)
    await api.services.store.transaction((tx) => tx.erasure.erase(workspace.id, pass.id, new Uint8Array(32), api.now))
    expect(await messages(workspace)).toContain(getTask(another.id))
    expect(await messages(workspace, { passId: [pass.id] })).toEqual([])
    await sweep(api.services)
    expect(await count()).toBe(1)
    api.advance(30 * 86_400 + 1)
    await sweep(api.services)
    expect(await count()).toBe(0)
  })
})
