import { afterEach, describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import type { Pass } from '../../../src/core/contract/passes.ts'
import type { DefinitionInput } from '../../../src/core/contract/schemas/definition.ts'
import { checkWork } from '../../../src/server/operator/doctor/work.ts'
import { erasePass } from '../../../src/server/operator/erase-pass.ts'
import { createGoogleSync } from '../../../src/server/wallet-sync/google-sync.ts'
import type { GoogleCalls } from '../../../src/wallets/google/api/google-api.ts'
import type { GoogleResource } from '../../../src/wallets/google/resource.ts'
import type { PhoneView } from '../../../src/wallets/sandbox/google/google-server.ts'
import { useApi } from '../../support/api.ts'
import { oneDialect } from '../../support/databases.ts'
import { makePass, passBody, publishedTemplate, publishVersion } from '../fixtures.ts'
import { eventually, gate } from '../jobs/fixtures.ts'

const text = (value: string) => ({ defaultValue: { language: 'en', value } })
const performance = (google: object = {}): DefinitionInput => ({
  variables: ['show', 'day', 'door', 'seat'].map((name) => ({ name, label: name, default: 'none', example: 'x' })),
  design: {
    organizationName: 'Harbour Theatre',
    description: '{{show}} for {{seat}}',
    fields: { secondary: [{ key: 'seat', label: 'Seat', value: '{{seat}}' }] },
  },
  google: {
    kind: 'eventTicket',
    classKey: '{{show}}, {{day}}',
    class: { eventName: text('{{show}}'), finePrint: text('Door {{door}}') },
    ...google,
  },
})

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)
  afterEach(() => api.faults.replace([]))

  async function theatre() {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace, { definition: performance() })
    const make = (variables: object) => makePass(workspace, template.id, { variables: { day: 'Monday', ...variables } })
    const refused = (variables: object) =>
      workspace.refused(contract.passes.create, {
        body: passBody(template.id, { variables: { day: 'Monday', ...variables } }),
      })
    const update = ({ id }: Pass, variables: object) =>
      workspace.ok(contract.passes.update, { params: { id }, body: { variables: { ...variables } } })
    return { workspace, template, make, refused, update }
  }

  /** Opens the link of a pass, so that Google has its object. */
  async function open({ hostedLinks }: Pass): Promise<void> {
    const answer = await api.send('GET', new URL(hostedLinks.google!).pathname)
    expect(answer.status, answer.text).toBe(302)
  }

  /** Returns the phone's view of a pass that is saved at Google. */
  async function viewOf({ id }: Pick<Pass, 'id'>): Promise<PhoneView> {
    const issuerId = api.services.wallets.google!.classOf({
      templateId: '',
      templateVersion: 1,
      templateCard,
    } as never).id
    const objectId = `${issuerId.split('.')[0]}.${id}-eventTicket`
    return (await (await fetch(`${api.googleUrl}/objects/eventTicket/${objectId}`)).json()) as PhoneView
  }

  /** Returns the content of a class that a phone shows for a saved pass. */
  async function shown(pass: Pick<Pass, 'id'>) {
    const view = await viewOf(pass)
    const { eventName, finePrint, id: classId } = view.class as unknown as Record<string, ReturnType<typeof text>>
    const says = [eventName, finePrint].flatMap((each) => each?.defaultValue.value ?? []).join(', ')
    return { says, classId: String(classId), version: view.version }
  }
  const templateCard = {
    google: { kind: 'generic' },
    fields: { header: [], primary: [], secondary: [], auxiliary: [] },
  }
  const classJobs = () => api.database.writer('jobs').where({ kind: 'upsert-google-class' })

  test('passes with equal keys share a class that shows their values, and others have their own', async () => {
    const { workspace, template, make } = await theatre()
    const hamlet = [await make({ show: 'Hamlet', door: 'A', seat: '1' }), await make({ show: 'Hamlet', door: 'A' })]
    const lear = await make({ show: 'Lear', door: 'B' })
    await api.runJobs()
    for (const pass of [...hamlet, lear]) await open(pass)
    const first = await shown(hamlet[0]!)
    expect(first).toMatchObject({ says: 'Hamlet, Door A' })
    expect(first.classId).toMatch(/^\d+\.[0-9a-f]{32}-eventTicket$/)
    expect((await shown(hamlet[1]!)).classId).toBe(first.classId)
    const other = await shown(lear)
    expect(other.says).toBe('Lear, Door B')
    expect(other.classId).not.toBe(first.classId)
    // The same key in another version makes another class.
    await publishVersion(workspace, template.id, performance({ class: { finePrint: text('{{door}}') } }))
    const late = await make({ show: 'Hamlet', door: 'C' })
    await open(late)
    // A value of a single pass does not appear in the class: the placeholder of its seat is empty.
    expect(await shown(late)).toMatchObject({ says: 'Hamlet for none, C' })
    expect([first.classId, other.classId]).not.toContain((await shown(late)).classId)
  })

  test('an object with an older class name keeps its class, and moves when its link is opened', async () => {
    const { workspace, template, make, update } = await theatre()
    const [early, late] = [await make({ show: 'Hamlet', door: 'A' }), await make({ show: 'Hamlet', door: 'A' })]
    await api.runJobs()
    for (const pass of [early, late]) await open(pass)
    const { classId } = await shown(early)
    const { writer } = api.database
    const [digest] = await writer('google_classes').where({ workspace_id: workspace.id }).pluck('key_digest')
    const suffix = `template-${template.id}-v1-eventTicket-${digest}`
    const long = `${classId.split('.')[0]}.${suffix}`
    const { class: ofClass, object } = (await viewOf(early)) as unknown as Record<'class' | 'object', GoogleResource>
    await api.services.google!.api.upsertClass('eventTicket', { ...ofClass, id: long })
    await api.services.google!.api.updateObject('eventTicket', { ...object, classId: long })
    await writer('google_objects').where({ pass_id: early.id }).update({ class_suffix: suffix })

    await update(late, { door: 'B' })
    await api.runJobs()
    expect(await shown(early)).toMatchObject({ says: 'Hamlet, Door B', classId: long })
    expect(await shown(late)).toMatchObject({ says: 'Hamlet, Door B', classId })
    await open(early)
    expect(await shown(early)).toMatchObject({ says: 'Hamlet, Door B', classId })
    await update(late, { door: 'C' })
    await api.runJobs()
    expect(await shown(early)).toMatchObject({ says: 'Hamlet, Door C' })
  })

  test('a create with other class fields than its key has is rejected with both values, alone or in a batch', async () => {
    const { workspace, template, make, refused } = await theatre()
    const first = await make({ show: 'Hamlet', door: 'A' })
    const answer = await refused({ show: 'Hamlet', door: 'B' })
    expect(answer).toMatchObject({ status: 400, errorCode: 'VALIDATION_ERROR' })
    const issue = { path: ['variables', 'door'], message: expect.stringMatching(/"A".*"B"/) }
    expect(answer.details).toMatchObject({ issues: [issue] })
    const body = (variables: object) => passBody(template.id, { variables: { day: 'Monday', ...variables } })
    const repeated = {
      externalPassId: first.externalPassId,
      label: 'x',
      templateId: template.id,
      variables: { door: 'Z' },
    }
    const items = [
      body({ show: 'Hamlet', door: 'A' }),
      body({ show: 'Lear', door: '1' }),
      body({ show: 'Lear' }),
      repeated,
    ]
    const { results } = await workspace.ok(contract.passes.createBatch, { body: { passes: items } })
    expect(results.map((result) => result.success)).toEqual([true, true, false, true])
    expect(results[2]).toMatchObject({ error: { details: { issues: [{ path: ['variables', 'door'] }] } } })
  })

  test('exactly one of simultaneous creates with one key and different class fields decides, and others fail', async () => {
    const { workspace, template } = await theatre()
    const create = async (show: string, door: string, isBatch: boolean) => {
      const bodies = [
        passBody(template.id, { variables: { show, door } }),
        passBody(template.id, { variables: { show, door } }),
      ]
      if (!isBatch) return [(await workspace.call(contract.passes.create, { body: bodies[0]! })).status === 201]
      const { results } = await workspace.ok(contract.passes.createBatch, { body: { passes: bodies } })
      return results.map(({ success }) => success)
    }
    for (const isBatch of [false, true]) {
      const doors = ['A', 'B', 'C', 'D']
      const outcomes = await Promise.all(doors.map((door) => create(`Macbeth ${isBatch}`, door, isBatch)))
      const won = outcomes.filter((outcome) => outcome.every((success) => success))
      expect(won).toHaveLength(1)
      expect(outcomes.filter((outcome) => outcome.some((success) => success))).toHaveLength(1)
    }
  })

  test('an update of a pass changes the class once for all of its passes, and nothing else of a pass does', async () => {
    const { make, update, refused } = await theatre()
    const passes = [await make({ show: 'Hamlet', door: 'A' }), await make({ show: 'Hamlet', door: 'A' })]
    await api.runJobs()
    for (const pass of passes) await open(pass)
    await update(passes[0]!, { door: 'B' })
    expect(await classJobs()).toHaveLength(1)
    await api.runJobs()
    expect((await shown(passes[1]!)).says).toBe('Hamlet, Door B')
    // The values of the class still come from the other pass.
    await update(passes[1]!, { seat: '7', door: 'A' })
    await update(passes[1]!, { door: 'B' })
    expect(await classJobs()).toHaveLength(0)
    await api.runJobs()
    expect((await shown(passes[1]!)).says).toBe('Hamlet, Door B')
    expect((await refused({ show: 'Hamlet', door: 'A' })).status).toBe(400)
    await make({ show: 'Hamlet', door: 'B' })
  })

  test('a pass with a changed key moves to the class of the new key, and unused keys are free', async () => {
    const { workspace, make, update } = await theatre()
    const [hamlet, lear] = [await make({ show: 'Hamlet', door: 'A' }), await make({ show: 'Lear', door: 'B' })]
    await api.runJobs()
    await open(hamlet)
    await update(hamlet, { show: 'Lear' })
    await api.runJobs()
    await open(lear)
    expect(await shown(hamlet)).toEqual({ ...(await shown(lear)), version: expect.any(Number) })
    expect((await shown(hamlet)).says).toBe('Lear, Door B')
    expect(await api.database.writer('google_classes').where({ workspace_id: workspace.id })).toHaveLength(1)
    const next = await make({ show: 'Hamlet', door: 'C' })
    await open(next)
    expect((await shown(next)).says).toBe('Hamlet, Door C')
    // Two passes that swap their classes at the same time do not wait for each other.
    await Promise.all([update(hamlet, { show: 'Hamlet' }), update(next, { show: 'Lear', door: 'D' })])
    await api.runJobs()
    // The order is not defined: the class has the value of A or still that of C.
    expect((await shown(hamlet)).says).toMatch(/^Hamlet, Door [AC]$/)
    expect((await shown(lear)).says).toBe('Lear, Door D')
  })

  test('without a key, passes with the same event facts share a class: a change moves one, and others stay', async () => {
    const { design } = performance()
    const names = ['show', 'day', 'seat']
    const event = { name: '{{show}}', startsAt: '{{day}}', venue: { name: 'Harbour', address: '1 Quay' } }
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace, {
      definition: { variables: names.map((name) => ({ name, label: name })), design, event },
      passType: 'eventTicket',
    })
    const variables = { show: 'Hamlet', day: '2026-09-01T19:00:00Z', seat: '1' }
    const [stays, moves] = [
      await makePass(workspace, template.id, { variables }),
      await makePass(workspace, template.id, { variables }),
    ]
    await api.runJobs()
    for (const pass of [stays, moves]) await open(pass)
    const before = await shown(stays)
    expect((await shown(moves)).classId).toBe(before.classId)
    const update = ({ id }: Pass, changed: object) =>
      workspace.ok(contract.passes.update, { params: { id }, body: { variables: { ...changed } } })
    await update(moves, { day: '2026-09-02T19:00:00Z' })
    await api.runJobs()
    expect(await shown(stays)).toEqual(before)
    const after = await shown(moves)
    expect(after.classId).not.toBe(before.classId)
    await update(stays, { day: '2026-09-02T19:00:00Z' })
    await api.runJobs()
    expect((await shown(stays)).classId).toBe(after.classId)
  })

  test('a pass keeps the fields of its class in another version', async () => {
    const { workspace, template, make, update } = await theatre()
    const passes = [await make({ show: 'Hamlet', door: 'A' }), await make({ show: 'Hamlet', door: 'A' })]
    await update(passes[0]!, { door: 'B' })
    await publishVersion(
      workspace,
      template.id,
      performance({ class: { eventName: text('{{show}}!'), finePrint: text('{{door}}') } }),
    )
    for (const pass of passes.toReversed()) {
      await workspace.ok(contract.passes.update, { params: { id: pass.id }, body: { templateVersion: 'latest' } })
      await open(pass)
      expect(await shown(pass)).toMatchObject({ says: 'Hamlet!, B' })
    }
  })

  test('resends a class that changes while it is sent with its first object', async () => {
    const { workspace, make, update } = await theatre()
    const pass = await make({ show: 'Hamlet', door: 'A' })
    const { store, google, issuing, wallets, clock } = api.services
    const held = gate()
    const upsertObject: GoogleCalls['upsertObject'] = async (...call) => {
      await held.pass()
      await google!.api.upsertObject(...call)
    }
    const sync = createGoogleSync({
      api: { ...google!.api, upsertObject },
      wallet: wallets.google!,
      store,
      issuing,
      clock,
    })
    const sending = sync.ensure((await store.passes.find(workspace.id, pass.id))!, api.now)
    await eventually(() => expect(held.waiting()).toBe(1))
    await update(pass, { door: 'B' })
    await api.runJobs()
    held.open()
    await sending
    await api.runJobs()
    expect((await shown(pass)).says).toBe('Hamlet, Door B')
    expect(await classJobs()).toHaveLength(0)
  })

  test('values of an erased pass leave its class if no other pass uses it', async () => {
    const { workspace, make } = await theatre()
    const passes = [await make({ show: 'Hamlet', door: 'A' }), await make({ show: 'Hamlet', door: 'A' })]
    for (const pass of passes) await open(pass)
    const { store } = api.services
    const erase = async ({ id }: Pass) => {
      await erasePass({ store, database: api.database }, workspace.id, id, api.now)
      await api.runJobs()
    }
    await erase(passes[0]!)
    expect((await shown(passes[0]!)).says).toBe('Hamlet, Door A')
    const before = await api.database.writer('google_classes').where({ workspace_id: workspace.id })
    expect(JSON.stringify(before)).toContain('Hamlet')
    await erase(passes[1]!)
    expect(
      JSON.stringify(await api.database.writer('google_classes').where({ workspace_id: workspace.id })),
    ).not.toMatch(/Hamlet|Monday/)
    // The class then has the values of the next pass with the key.
    const next = await make({ show: 'Hamlet', door: 'B' })
    await open(next)
    expect((await shown(next)).says).toBe('Hamlet, Door B')
  })

  test('a changed class that Google rejects is reported only on its passes', async () => {
    const { workspace, template, make, update } = await theatre()
    const [hamlet, lear] = [await make({ show: 'Hamlet', door: 'A' }), await make({ show: 'Lear' })]
    await api.runJobs()
    for (const pass of [hamlet, lear]) await open(pass)
    await update(hamlet, { door: 'B' })
    await api.database.writer('jobs').where({ kind: 'update-google' }).delete()
    const lastError = async ({ id }: Pass) =>
      (await workspace.ok(contract.passes.wallets, { params: { id } })).lastError
    api.faults.replace(['google-400'])
    await api.runJobs()
    expect(await lastError(hamlet)).toMatchObject({ platform: 'google', code: 'GOOGLE_API_FAILED' })
    expect(await lastError(lear)).toBeNull()
    const version = await workspace.ok(contract.templateVersions.get, { params: { id: template.versionId } })
    expect(version.lastError).toBeNull()
    const doctor = async () => (await checkWork(api.services.store, api.now)).find(({ name }) => name === 'Templates')
    expect(await doctor()).toMatchObject({ status: 'FAILED', message: expect.stringContaining(`pass ${hamlet.id} of`) })
    api.faults.replace([])
    await update(hamlet, { door: 'C' })
    await api.runJobs()
    expect((await doctor())?.message).not.toContain(hamlet.id)
    expect([await lastError(hamlet), (await shown(hamlet)).says]).toEqual([null, 'Hamlet, Door C'])
  })

  const own = (name: string) => ({ class: { finePrint: text(`{{${name}}}`) } })
  test.each<[string, object, string | null]>([
    [
      'a variable in the class without a key',
      { classKey: undefined, ...own('door') },
      'class.finePrint.defaultValue.value',
    ],
    ['a variable in the class that is not in the key', own('door'), null],
    ['a pass code in the class that is not in the key', own('pass.scanCode'), 'class.finePrint.defaultValue.value'],
    ['a pass code in the key', { classKey: '{{pass.id}}', ...own('pass.id') }, null],
    ['a key that is equal for all passes', { classKey: 'all of {{template.name}}' }, 'classKey'],
    ['a key of an unknown variable', { classKey: '{{nobody}}' }, 'classKey'],
  ])('publishing evaluates %s', async (_, google, path) => {
    const workspace = await api.workspace()
    const { id } = await workspace.ok(contract.templates.create, { body: { name: 'T', passType: 'generic' } })
    const draft = await workspace.ok(contract.templates.createVersion, {
      params: { id },
      body: { definition: JSON.parse(JSON.stringify(performance(google))) },
    })
    const answer = await workspace.call(contract.templateVersions.publish, { params: { id: draft.id } })
    const paths = (answer.body as { details?: { issues: { path: string[] }[] } }).details?.issues.map((issue) =>
      issue.path.join('.'),
    )
    expect([answer.status, paths]).toEqual(path === null ? [200, undefined] : [400, [`definition.google.${path}`]])
  })
})
