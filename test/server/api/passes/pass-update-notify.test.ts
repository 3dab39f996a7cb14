import { beforeAll, describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import type { PassUpdate } from '../../../../src/core/contract/passes.ts'
import { type TestWorkspace, useApi } from '../../../support/api.ts'
import { oneDialect } from '../../../support/databases.ts'
import { definition, issuedPass } from '../../fixtures.ts'
import { usePhones } from '../../inbound/phones.ts'
import { traces } from './pass-changes.ts'

const field = (key: string, changeMessage?: string) => ({ key, label: key, value: `{{${key}}}`, changeMessage })

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)
  const phones = usePhones(api)
  let workspace: TestWorkspace
  beforeAll(async () => {
    workspace = await api.workspace()
  })

  const variables = { gate: 'A1', seat: '12A', meal: 'none' }
  async function boardingCard() {
    const { id } = await issuedPass(workspace, {
      definition: definition({
        variables: Object.keys(variables).map((name) => ({ name, label: name })),
        design: {
          ...definition().design,
          fields: { header: [field('gate', 'Now at gate %@')], secondary: [field('seat', 'Seat %@'), field('meal')] },
        },
      }),
      variables,
    })
    return id
  }
  const change = async (id: string, body: PassUpdate, dryRun = false) => {
    const { notified } = await workspace.ok(contract.passes.update, { params: { id }, query: { dryRun }, body })
    await api.runJobs()
    return notified
  }
  const rung = async (id: string) => {
    const { items } = await workspace.ok(contract.notifications.list, { params: { id }, query: {} })
    return items.map(({ body, apple, google }) => [body, apple.status, google.status])
  }
  const gate = (name: string, notify = true) => ({ variables: { gate: name }, notify })

  test('Android notifies once of an announced change, only if requested', async () => {
    const id = await boardingCard()
    await phones.addGoogle(workspace.id, id)
    expect(await change(id, { variables: { gate: 'A2' } })).toBeUndefined()
    expect(await change(id, gate('A3', false))).toBe(false)
    expect(await change(id, { variables: { meal: 'soup' }, notify: true })).toBe(false)
    expect(await rung(id)).toEqual([])
    const before = await traces(workspace, id)
    expect(await change(id, gate('$& B7'), true)).toBe(true)
    expect(await traces(workspace, id)).toEqual(before)
    expect(await change(id, { variables: { gate: '$& B7', seat: '14C', meal: 'cake' }, notify: true })).toBe(true)
    // A retry after a lost response changes nothing.
    expect(await change(id, gate('$& B7'))).toBe(false)
    expect(await change(id, { variables: { seat: null }, notify: true })).toBe(false)
    expect(await rung(id)).toEqual([['Now at gate $& B7\nSeat 14C', 'SKIPPED', 'SENT']])
    const [message] = await phones.messages(id)
    expect(message).toMatchObject({ body: 'Now at gate $& B7\nSeat 14C', messageType: 'TEXT_AND_NOTIFY' })
  })

  test('a change is applied silently if the pass is not installed at Google, or beyond the cap', async () => {
    const id = await boardingCard()
    expect(await change(id, gate('B1'))).toBe(false)
    await phones.addGoogle(workspace.id, id)
    for (const name of ['B2', 'B3', 'B4']) expect(await change(id, gate(name))).toBe(true)
    expect([await change(id, gate('B5'), true), await change(id, gate('B5'))]).toEqual([false, false])
    const pass = await workspace.ok(contract.passes.get, { params: { id } })
    expect(pass.variables.gate).toBe('B5')
    expect((await rung(id)).map(([, , google]) => google)).toEqual(['SENT', 'SENT', 'SENT'])
    api.advance(86_400)
    expect(await change(id, gate('B6'))).toBe(true)
  })

  test('changes of a pass that is not installed do not suppress later notifications', async () => {
    const id = await boardingCard()
    const notify = () => workspace.call(contract.notifications.create, { params: { id }, body: { body: 'Doors open' } })
    for (let n = 0; n < 3; n += 1) expect((await notify()).status).toBe(201)
    expect(await change(id, gate('B1'))).toBe(false)
    await phones.addGoogle(workspace.id, id)
    for (const name of ['B2', 'B3', 'B4']) expect(await change(id, gate(name))).toBe(true)
    expect(await change(id, gate('B5'))).toBe(false)
    const states = (await rung(id)).map(([, , google]) => google)
    expect(states).toEqual(['SENT', 'SENT', 'SENT', 'SKIPPED', 'SKIPPED', 'SKIPPED'])
    // The limit of the API counts notifications to Google only.
    expect((await notify()).status).toBe(429)
  })
})
