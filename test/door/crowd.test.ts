import { expect, test } from 'vitest'
import { findFaults, insertTickets, showTickets } from '../../bench/support/door-run.ts'
import { openPhone, until } from '../../bench/support/doors.ts'
import { contract } from '../../src/core/contract/contract.ts'
import { useApi } from '../support/api.ts'

// biome-ignore lint/correctness/useHookAtTopLevel: no hook of React
const api = useApi('sqlite')

/** Checks the same as bench/door, except times. */
test('with half of the doors offline, no scan is lost and each double admission is a conflict', async () => {
  const workspace = await api.workspace()
  const projectId = await insertTickets(api.database, workspace.id, 300)
  const expiresAt = new Date(api.now.getTime() + 3_600_000).toISOString()
  const body = { projectId, gate: 'North', uses: 3, expiresAt }
  const { code } = await workspace.ok(contract.doors.invite, { body })
  const identities = []
  for (const name of ['Anna', 'Ben', 'Cleo']) {
    identities.push(await workspace.ok(contract.doors.claim, { body: { code, name } }))
  }
  const send: typeof fetch = async (input, init) => {
    const response = await api.app.fetch(new Request(input as string, init))
    // Add the headers of a real server.
    const headers = new Headers(response.headers)
    headers.set('date', api.now.toUTCString())
    return new Response(response.body, { status: response.status, headers })
  }
  const options = { fetch: send, wallMs: () => api.now.getTime() }
  const phones = await Promise.all(
    identities.map(({ door, token }) => openPhone('https://passes.example', { door, token }, options)),
  )
  for (const { engine } of phones) {
    await until(engine, ({ connection, list }) => connection === 'online' && list?.size === 300)
  }

  let judged = 0
  const timed = await showTickets(phones, {
    scans: 240,
    tickets: 300,
    // Requests are in flight whenever the network is cut.
    async pace(n, before) {
      if (n - judged < 25) return
      judged = n
      await Promise.all(before)
    },
  })
  for (const phone of phones) phone.cut(false)
  for (const { engine } of phones) engine.retry()
  for (const { engine } of phones) {
    await until(engine, (state) => state.connection === 'online' && state.pending === 0)
  }
  const shown = timed.map(({ decision }) => decision)
  const { twice, ...faults } = await findFaults(api.database, workspace.id, shown)
  expect(faults).toEqual({ unevaluated: 0, lost: 0, twiceOnline: 0, untold: 0 })
  // The run had both online and offline decisions.
  expect(new Set(shown.map(({ verified }) => verified))).toEqual(new Set(['online', 'offline']))
  expect(twice).toBeGreaterThan(0)
  await Promise.all(phones.map(({ engine }) => engine.stop()))
})
