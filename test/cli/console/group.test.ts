import { expect, onTestFinished, test } from 'vitest'
import { createDoor, type Door } from '../../../src/cli/console/console-door.ts'
import { createControls } from '../../../src/cli/console/controls.ts'
import { createClient } from '../../../src/client/client.ts'
import type { Outcome } from '../../../src/core/rules/door/outcome.ts'
import { passBody, publishedTemplate } from '../../server/fixtures.ts'
import { useApi } from '../../support/api.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { serveApp } from '../../support/served-app.ts'
import { storeList } from './console.ts'

// biome-ignore lint/correctness/useHookAtTopLevel: no hook of React
const api = useApi('sqlite')

test.each(['online', 'offline'])(
  '%s, F5 shows the other passes of a group and admits a number of them or all, with a scan each',
  async (state) => {
    const workspace = await api.workspace()
    const { client } = await serveApp(api, workspace.token)
    const { id: templateId } = await publishedTemplate(workspace)
    const passes = ['Ada', 'Bea', 'Cleo', 'Dora', 'Eve'].map((label) => ({
      ...passBody(templateId),
      label,
      groupKey: 'order',
    }))
    const { results } = await client.passes.createBatch({ body: { passes } })
    await api.runJobs()
    const folder = temporaryFolder()
    if (state === 'offline') await storeList(client, folder)
    // The rules reject this pass like any other pass, because the list does not contain it yet.
    const ofEve = results.find(({ pass }) => pass?.label === 'Eve')!.pass!
    const nobody = createClient({ url: 'http://127.0.0.1:9', token: workspace.token, attempts: 1 })
    const outcomes: Outcome[] = []
    const door: Door = await createDoor({
      client: state === 'online' ? client : nobody,
      folder,
      station: { projectId: undefined, deviceId: 'gate', context: {} },
      isReached: state === 'online',
      overrides: { scanContextKey: null, validityDate: null },
      clock: () => api.now,
      sameScanMs: 3_000,
      onOutcome: (outcome) => outcomes.push(outcome),
      onChange: () => undefined,
    })
    onTestFinished(async () => {
      await door.stop()
      await nobody.close()
    })
    const nothing = () => undefined
    const controls = createControls({ door, clearInput: nothing, onInterrupt: nothing, onChange: nothing })
    const press = () => controls.handle({ kind: 'key', key: 'group' })
    const label = () => outcomes.map((outcome) => outcome.label)

    press()
    expect([controls.panel, door.state.notice]).toEqual([null, 'The last scan has no group.'])
    await door.admit(results[0]!.pass!.id)
    press()
    expect(controls.panel).toMatchObject({ kind: 'group', label: 'Ada' })
    controls.handle({ kind: 'line', text: '5', isTyped: true })
    expect([door.state.notice, label()]).toEqual(['Type a number from 1 to 4.', ['Ada']])
    controls.handle({ kind: 'line', text: '2', isTyped: true })
    await eventually(() => expect(door.state.notice).toBe('2 of 2 let in.'))
    expect(controls.panel).toMatchObject({ kind: 'entered', outcomes: [{ label: 'Bea' }, { label: 'Cleo' }] })
    expect(outcomes.map(({ group }) => group!.used)).toEqual([1, 2, 3])

    if (state === 'online') await client.passes.void({ params: { id: ofEve.id }, body: {} })
    press()
    press()
    const told = state === 'online' ? '1 of 2 let in, not Eve (VOIDED).' : '2 of 2 let in.'
    await eventually(() => expect([outcomes.length, door.state.notice]).toEqual([5, told]))
    const rejectedFirst =
      state === 'online' ? [{ label: 'Eve' }, { label: 'Dora' }] : [{ label: 'Dora' }, { label: 'Eve' }]
    expect(controls.panel).toMatchObject({ kind: 'entered', outcomes: rejectedFirst })
    expect(label()).toEqual(['Ada', 'Bea', 'Cleo', 'Dora', 'Eve'])
    expect(new Set(outcomes.map(({ externalRef }) => externalRef)).size).toBe(5)
    press()
    expect(door.state.notice).toBe('Everyone of the group is admitted.')
    if (state === 'offline') return eventually(() => expect(door.state.pending).toBe(5))

    door.undo(door.lastAccepted()!)
    await eventually(() =>
      expect(outcomes.at(-1)).toMatchObject({ result: 'reversal', label: 'Dora', group: { used: 3 } }),
    )
  },
)
