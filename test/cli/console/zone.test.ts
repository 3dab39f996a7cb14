import { expect, onTestFinished, test } from 'vitest'
import type { Door } from '../../../src/cli/console/console-door.ts'
import { createControls } from '../../../src/cli/console/controls.ts'
import { enter } from '../../../src/cli/console/offline/door-folder.ts'
import { EXIT_DELETED } from '../../../src/cli/console/outcome.ts'
import { createClient } from '../../../src/client/client.ts'
import { contract } from '../../../src/core/contract/contract.ts'
import { badgeOf } from '../../../src/core/rules/door/outcome.ts'
import { passBody, publishedTemplate } from '../../server/fixtures.ts'
import { useApi } from '../../support/api.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { serveApp } from '../../support/served-app.ts'
import { openDoor } from './console.ts'

// biome-ignore lint/correctness/useHookAtTopLevel: no hook of React
const api = useApi('sqlite')

test('counts movements with and without the server, and switches the direction with F6 and F9', async () => {
  const workspace = await api.workspace()
  const { client, url } = await serveApp(api, workspace.token)
  const project = await workspace.ok(contract.projects.create, { body: { name: 'Fair' } })
  const { id: templateId } = await publishedTemplate(workspace, { projectId: project.id })
  const passes = ['Ada', 'Bea', 'Cleo'].map((label) => ({ ...passBody(templateId), label }))
  const [ada, bea, cleo] = (await client.passes.createBatch({ body: { passes } })).results.map(({ pass }) => pass!.id)
  const zone = await client.zones.create({
    body: { projectId: project.id, name: 'Hall', capacity: 2, whenFull: 'deny' },
  })
  await api.runJobs()

  const folder = temporaryFolder()
  const unreachable = createClient({ url: 'http://127.0.0.1:9', token: workspace.token, attempts: 1 })
  onTestFinished(() => unreachable.close())
  const place = { url, token: workspace.token, project: undefined, folder }
  await expect(enter({ ...place, client, zone: 'Hal' })).rejects.toThrow('No zone is called Hal')
  const entrance = await enter({ ...place, client, zone: 'Hall' })
  // Without the server, the console uses the stored zone.
  expect(await enter({ ...place, client: unreachable, zone: 'Hall' })).toEqual({ ...entrance, isReached: false })
  expect(entrance.place).toMatchObject({ projectId: project.id, zone: { id: zone.id, name: 'Hall' } })

  let opened: Door | undefined
  onTestFinished(async () => void (await opened?.stop()))
  const open = async (isReached: boolean) => {
    await opened?.stop()
    const door = await openDoor(isReached ? client : unreachable, entrance.folder, {
      station: { projectId: project.id, deviceId: 'gate', context: {} },
      movement: { zoneId: zone.id, direction: 'in' },
      isReached,
      clock: () => api.now,
    })
    opened = door
    const nothing = () => undefined
    const controls = createControls({ door, clearInput: nothing, onInterrupt: nothing, onChange: nothing })
    const press = (key: 'direction' | 'confirm' | 'escape' | 'lock' | 'enter') => controls.handle({ kind: 'key', key })
    const admit = async (passId: string | undefined) => {
      api.advance(1)
      const outcome = await door.admit(passId!)
      return [outcome.direction, badgeOf(outcome).word, outcome.verified, outcome.zone?.inside]
    }
    return { door, controls, press, admit }
  }

  const online = await open(true)
  await online.door.flush(60_000)
  expect(await online.admit(ada)).toEqual(['in', 'valid', 'online', 1])
  expect(await online.admit(ada)).toEqual(['in', 'already_scanned', 'online', 1])
  for (const keys of [
    ['confirm'],
    ['direction', 'direction'],
    ['direction', 'enter'],
    ['direction', 'escape'],
  ] as const)
    for (const key of keys) online.press(key)
  online.press('escape')
  online.press('lock')
  online.press('direction')
  expect(online.controls.panel).toBe(null)
  online.press('lock')
  expect(online.door.state.movement?.direction).toBe('in')
  online.press('direction')
  expect(online.controls.panel).toEqual({ kind: 'direction', to: 'out' })
  online.press('confirm')
  expect(online.controls.panel).toBe(null)
  expect(await online.admit(bea)).toEqual(['out', 'not_inside', 'online', 1])
  expect(await online.admit(ada)).toEqual(['out', 'left', 'online', 0])
  expect(online.door.state.counters).toMatchObject({ accepted: 1, left: 1, turnedAway: 2 })
  online.door.undo(online.door.lastAccepted()!)
  await eventually(() => expect(online.door.state.counters).toMatchObject({ accepted: 1, left: 0 }))
  await eventually(() => expect(online.door.state.movement?.zone?.inside).toBe(1))
  await online.door.flush(60_000)

  const offline = await open(false)
  expect(await offline.admit(bea)).toEqual(['in', 'valid', 'offline', 2])
  expect(await offline.admit(cleo)).toEqual(['in', 'zone_full', 'offline', 2])
  offline.press('direction')
  offline.press('confirm')
  expect(await offline.admit(bea)).toEqual(['out', 'left', 'offline', 1])
  await eventually(() => expect(offline.door.state.pending).toBe(3))

  const later = await open(true)
  await later.door.flush(60_000)
  await eventually(() => expect(later.door.state.pending).toBe(0))
  expect(await client.zones.get({ params: { id: zone.id } })).toMatchObject({ inside: 1 })

  await client.zones.delete({ params: { id: zone.id } })
  await eventually(() => expect(later.door.state.notice).toContain('Zone deleted'))
  expect(later.door.state.movement).toBe(null)
  later.door.notify('Another line')
  await later.admit(cleo)
  expect(later.door.state.notice).toContain('Zone deleted')
  later.press('escape')
  await later.admit(cleo)
  expect(later.door.state.notice).toBe(null)
})

test('an exit of a deleted zone scans nothing, and F6 does not turn it into an entrance', async () => {
  const workspace = await api.workspace()
  const { client } = await serveApp(api, workspace.token)
  const { id: projectId } = await workspace.ok(contract.projects.create, { body: { name: 'Fair' } })
  const { id: templateId } = await publishedTemplate(workspace, { projectId })
  const { results } = await client.passes.createBatch({ body: { passes: [passBody(templateId)] } })
  const { id: zoneId } = await client.zones.create({ body: { projectId, name: 'Hall' } })
  await api.runJobs()
  const folder = temporaryFolder()
  const unreachable = createClient({ url: 'http://127.0.0.1:9', token: workspace.token, attempts: 1 })
  onTestFinished(() => unreachable.close())
  const open = (isReached: boolean) =>
    openDoor(isReached ? client : unreachable, folder, {
      station: { projectId, deviceId: 'gate', context: {} },
      movement: { zoneId, direction: 'out' },
      isReached,
      clock: () => api.now,
    })
  const door = await open(true)
  await door.flush(60_000)
  await client.zones.delete({ params: { id: zoneId } })
  const deleted = { result: 'error', message: EXIT_DELETED, direction: 'out' }
  expect(await door.admit(results[0]!.pass!.id)).toMatchObject(deleted)
  await eventually(() => expect(door.state.notice).toBe(EXIT_DELETED))
  door.dismiss()
  door.turn()
  expect(await door.admit(results[0]!.pass!.id)).toMatchObject(deleted)
  expect(door.state).toMatchObject({ notice: EXIT_DELETED, movement: { direction: 'out' }, pending: 0 })
  await door.stop()

  const offline = await open(false)
  expect(await offline.admit(results[0]!.pass!.id)).toMatchObject(deleted)
  await offline.stop()
  expect((await client.scans.list({ query: {} })).total).toBe(0)
})
