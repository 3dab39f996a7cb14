import { beforeAll, describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import type { Broadcast } from '../../../src/core/contract/messages/broadcasts.ts'
import type { DefinitionInput } from '../../../src/core/contract/schemas/definition.ts'
import { checkFields } from '../../../src/wallets/google/check-fields.ts'
import { typeOf } from '../../../src/wallets/google/fields.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { dialects } from '../../support/databases.ts'
import { openedIn, shownIn } from '../../support/phone-languages.ts'
import { definition, issuedPass, makePass, makeProject, publishedTemplate, publishVersion } from '../fixtures.ts'
import { usePhones } from '../inbound/phones.ts'

const { create, get, list } = contract.notifications
const body = { pt: 'Portas às 19h', en: 'Doors at 7', ar: 'الأبواب في السابعة' }
const header = { pt: 'Hoje', en: 'Tonight' }

const inLanguages = (parts: Partial<DefinitionInput> = {}) =>
  definition({ languages: { default: 'pt', others: ['en', 'ar'] }, ...parts })

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  const phones = usePhones(api)
  let workspace: TestWorkspace

  beforeAll(async () => {
    workspace = await api.workspace()
  })

  async function hold(id: string) {
    await phones.addApple(workspace.id, id)
    await phones.addGoogle(workspace.id, id)
    return id
  }

  async function heldPass(content: DefinitionInput) {
    return hold((await issuedPass(workspace, { definition: content })).id)
  }

  /**
   * Returns the text of the last message on phones in these languages: on an iPhone, and in the header and body on an
   * Android phone.
   */
  async function shown(passId: string, languages = ['pt', 'en', 'ar']) {
    const { store, packages, wallets, issuing } = api.services
    const pass = (await store.passes.find(workspace.id, passId))!
    const archive = await packages!.build(pass, api.now)
    const style = wallets.apple!.passJson(await issuing.render(pass)).generic as { backFields: { value: string }[] }
    const message = (await phones.messages(passId)).at(-1) as unknown as Record<string, unknown>
    expect([...checkFields(typeOf('generic', 'Object'), { messages: [message] }, { needsLogos: false })]).toEqual(
      expect.not.arrayContaining([expect.objectContaining({ path: expect.arrayContaining(['messages']) })]),
    )
    return languages.map((language) => [
      openedIn(language, archive)(style.backFields[0]!.value).replace(/\u2060.*/, ''),
      shownIn(language, message.header, message.localizedHeader),
      shownIn(language, message.body, message.localizedBody),
    ])
  }

  test('phones of three languages show a notification in theirs, and responses show all languages', async () => {
    const id = await heldPass(inLanguages())
    const params = { id }
    const sent = await workspace.ok(create, { params, body: { body, options: { google: { header } } } })
    expect(sent).toMatchObject({ body, options: { google: { header } } })
    await api.runJobs()
    expect(await workspace.ok(get, { params: { id, notificationId: sent.id } })).toMatchObject({ body, status: 'SENT' })
    expect((await workspace.ok(list, { params })).items).toMatchObject([{ body }])
    expect(await shown(id)).toEqual([
      [body.pt, 'Hoje', body.pt],
      [body.en, 'Tonight', body.en],
      [body.ar, 'Hoje', body.ar],
    ])
    // A second notification replaces the first one in all languages.
    await workspace.ok(create, { params, body: { body: { pt: 'Sala 2', en: 'Hall 2' } } })
    await api.runJobs()
    expect((await shown(id)).map(([apple, , google]) => [apple, google])).toEqual([
      ['Sala 2', 'Sala 2'],
      ['Hall 2', 'Hall 2'],
      ['Sala 2', 'Sala 2'],
    ])
    await workspace.ok(create, { params, body: { body: 'Hall {{3}}' } })
    await api.runJobs()
    expect((await shown(id)).map(([apple, , google]) => [apple, google])).toEqual([
      ['Hall {{3}}', 'Hall {{3}}'],
      ['Hall {{3}}', 'Hall {{3}}'],
      ['Hall {{3}}', 'Hall {{3}}'],
    ])
  })

  test('a broadcast reaches passes of each version in their languages, else in the default', async () => {
    const project = await makeProject(workspace, 'Tour')
    const template = await publishedTemplate(workspace, { projectId: project.id, definition: definition() })
    const old = (await makePass(workspace, template.id)).id
    await publishVersion(workspace, template.id, inLanguages())
    const current = (await makePass(workspace, template.id)).id
    const german = inLanguages({ languages: { default: 'de', others: ['en'] } })
    const other = await publishedTemplate(workspace, { projectId: project.id, definition: german })
    const foreign = (await makePass(workspace, other.id)).id
    await api.runJobs()
    for (const id of [old, current, foreign]) await hold(id)
    const params = { id: project.id }
    const lacking = await workspace.refused(contract.broadcasts.create, { params, body: { body } })
    expect(lacking).toMatchObject({
      status: 400,
      errorCode: 'VALIDATION_ERROR',
      details: { issues: [{ path: ['body'], message: expect.stringContaining('Missing the default language de') }] },
    })
    const texts = { ...body, de: 'Einlass um 19 Uhr' }
    const dryRun = { params, query: { dryRun: true }, body: { body: { ...texts, fr: 'Portes' } } }
    expect(await workspace.refused(contract.broadcasts.create, dryRun)).toMatchObject({
      details: { issues: [{ path: ['body', 'fr'], message: expect.stringMatching(/pt, en, ar, de|de, en, pt, ar/) }] },
    })
    const sent = (await workspace.ok(contract.broadcasts.create, { params, body: { body: texts } })) as Broadcast
    await api.runJobs()
    const named = { params: { ...params, broadcastId: sent.id } }
    expect(await workspace.ok(contract.broadcasts.get, named)).toMatchObject({ body: texts, passCount: 3 })
    expect((await workspace.ok(contract.broadcasts.list, { params })).items).toMatchObject([{ body: texts }])
    expect((await workspace.ok(list, { params: { id: current } })).items).toMatchObject([{ body: texts }])
    const read = async (id: string) =>
      (await shown(id, ['pt', 'en', 'ar', 'de'])).map(([apple, , google]) => {
        expect(google).toBe(apple)
        return apple
      })
    expect(await read(current)).toEqual([texts.pt, texts.en, texts.ar, texts.pt])
    expect(await read(foreign)).toEqual([texts.de, texts.en, texts.de, texts.de])
    // A version without languages counts as English.
    expect(await read(old)).toEqual([texts.en, texts.en, texts.en, texts.en])
  })

  test('an update that makes Android ring announces the change in the language of each phone', async () => {
    const gate = {
      key: 'gate',
      label: { pt: 'Porta', en: 'Gate' },
      value: '{{seat}}',
      changeMessage: { pt: 'Nova porta: %@', en: 'New gate: %@' },
    }
    const design = { ...definition().design, fields: { primary: [gate] } }
    const id = await heldPass(inLanguages({ design }))
    await workspace.ok(contract.passes.update, { params: { id }, body: { variables: { seat: 'A1' } } })
    await workspace.ok(contract.passes.update, { params: { id }, body: { variables: { seat: 'B7' }, notify: true } })
    await api.runJobs()
    const [message] = (await phones.messages(id)) as unknown as Record<string, unknown>[]
    expect(['pt', 'en', 'ar'].map((language) => shownIn(language, message!.body, message!.localizedBody))).toEqual([
      'Nova porta: B7',
      'New gate: B7',
      'Nova porta: B7',
    ])
  })

  test('rejects a message in a language that the pass version lacks, and lists the available ones', async () => {
    const { id } = await issuedPass(workspace, { definition: inLanguages() })
    const plain = await issuedPass(workspace)
    const issuesOf = async (passId: string, message: object) =>
      (await workspace.refused(create, { params: { id: passId }, body: message as never })).details.issues
    expect(await issuesOf(id, { body: { ...body, fr: 'Portes' } })).toEqual([
      { path: ['body', 'fr'], message: expect.stringContaining('pt, en, ar') },
    ])
    expect(await issuesOf(id, { body: { en: 'Doors' }, options: { google: { header: { ar: 'ا' } } } })).toEqual([
      { path: ['body'], message: expect.stringContaining('Missing the default language pt') },
      { path: ['options', 'google', 'header'], message: expect.stringContaining('Missing the default language pt') },
    ])
    expect(await issuesOf(plain.id, { body: { en: 'Doors' } })).toEqual([
      { path: ['body'], message: expect.stringContaining('names no languages') },
    ])
    for (const [given, said] of [
      [{ english: 'Doors' }, '"english" is not a language'],
      [{ pt: '' }, 'Must not be empty'],
      [{ pt: 'a'.repeat(1001) }, 'at most 1000'],
      [{}, 'Missing the default language pt'],
      [7, 'Must be a text, or one for each language'],
      [['pt'], 'is not a language'],
    ] as const) {
      expect(await issuesOf(id, { body: given })).toEqual([
        { path: expect.arrayContaining(['body']), message: expect.stringContaining(said) },
      ])
    }
    expect((await workspace.ok(list, { params: { id } })).items).toEqual([])
  })
})
