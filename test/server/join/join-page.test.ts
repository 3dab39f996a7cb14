import { describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import type { DefinitionInput } from '../../../src/core/contract/schemas/definition.ts'
import { createJoinLimits } from '../../../src/server/admission/join-limits.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { dialects, oneDialect } from '../../support/databases.ts'
import { definition, makeProject, publishedTemplate, publishVersion } from '../fixtures.ts'

const { set, get } = contract.joinPages

let pages = 0

const content: DefinitionInput = definition({
  languages: { default: 'en', others: ['ar'] },
  variables: [
    { name: 'first', label: 'First name', required: true, maxLength: 40 },
    { name: 'last', label: 'Last name' },
    { name: 'email', label: 'Email', format: 'email' },
  ],
  design: {
    organizationName: 'Harbour Coffee',
    description: 'Coffee card',
    fields: { primary: [{ key: 'name', label: 'Name', value: '{{pass.label}}' }] },
  },
})

function pageBody(parts: object = {}) {
  pages += 1
  return {
    slug: `page-${pages}`,
    title: { en: 'Get your coffee card', ar: 'احصل على بطاقة القهوة' },
    fields: [{ variable: 'first' }, { variable: 'last' }, { variable: 'email' }],
    labelFrom: ['{{first}} {{last}}', '{{first}}'],
    consent: { text: 'I agree to https://coffee.example/terms.', version: '2027-01', required: true },
    ...parts,
  }
}

async function joinPage(workspace: TestWorkspace, parts: object = {}) {
  const project = await makeProject(workspace, 'Coffee')
  const template = await publishedTemplate(workspace, { definition: content, projectId: project.id, name: 'Card' })
  const page = await workspace.ok(set, { params: { id: template.id }, body: pageBody(parts) })
  return { ...page, projectId: project.id, path: `/join/${page.slug}` }
}

const tokenIn = (html: string) => /name="-token" value="([\w-]{48})"/.exec(html)![1]!

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)

  const open = async (path: string, headers: Record<string, string> = {}) => api.send('GET', path, { headers })
  const send = (path: string, form: Record<string, string>, headers: Record<string, string> = {}) =>
    api.send('POST', path, {
      body: new URLSearchParams(form).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    })
  const filled = async (path: string, form: Record<string, string> = {}) => ({
    '-token': tokenIn((await open(path)).text),
    '-consent': '2027-01',
    first: 'Ada',
    ...form,
  })
  const passesOf = async (workspace: TestWorkspace, slug: string) =>
    (await workspace.ok(contract.passes.list, { query: { joinSlug: slug } })).items

  test('a submission creates a pass and leads to its link, with consent and source', async () => {
    const workspace = await api.workspace()
    const page = await joinPage(workspace)
    const path = `${page.path}?source=window`
    const answer = await send(path, await filled(path, { last: 'Lovelace' }))
    expect(answer.status).toBe(303)
    const [pass] = await passesOf(workspace, page.slug)
    expect(pass).toMatchObject({
      label: 'Ada Lovelace',
      variables: { first: 'Ada', last: 'Lovelace' },
      projectId: page.projectId,
      join: { slug: page.slug, source: 'window', consentVersion: '2027-01', consentedAt: api.now.toISOString() },
    })
    expect(pass!.externalPassId).toMatch(new RegExp(`^join:${page.slug}:[\\w-]{22}$`))
    const location = new URL(answer.headers.get('location')!, page.url)
    const shown = await open(location.pathname + location.search)
    expect([shown.status, shown.text.includes('Ada Lovelace')]).toEqual([200, true])
    const bySource = await workspace.ok(contract.passes.list, { query: { joinSource: ['window', 'door'] } })
    expect(bySource.total).toBe(1)
    expect((await workspace.ok(contract.passes.list, { query: { joinSource: 'door' } })).total).toBe(0)
    expect((await workspace.ok(get, { params: { id: page.templateId } })).joined).toBe(1)
  })

  test('a form that is sent twice, also concurrently and when the page is full, creates one pass', async () => {
    const workspace = await api.workspace()
    const page = await joinPage(workspace, { limit: 1 })
    const form = await filled(page.path)
    const answers = await Promise.all([send(page.path, form), send(page.path, form), send(page.path, form)])
    answers.push(await send(page.path, form))
    const places = new Set(answers.map(({ headers }) => headers.get('location')))
    expect([answers.map(({ status }) => status), places.size]).toEqual([[303, 303, 303, 303], 1])
    expect(await passesOf(workspace, page.slug)).toHaveLength(1)
    expect((await open(page.path)).status).toBe(410)
  })

  test('a form of a pass whose links were revoked leads nowhere', async () => {
    const workspace = await api.workspace()
    const page = await joinPage(workspace)
    const form = await filled(page.path)
    await send(page.path, form)
    const [pass] = await passesOf(workspace, page.slug)
    await workspace.ok(contract.passes.revokeLinks, { params: { id: pass!.id } })
    expect((await send(page.path, form)).status).toBe(410)
  })

  test('wrong values are rejected next to their fields and kept, and nothing is created', async () => {
    const workspace = await api.workspace()
    const page = await joinPage(workspace)
    const { '-consent': _, ...form } = await filled(page.path, {
      first: '',
      last: '"><script>alert(1)</script>',
      email: 'ada@',
    })
    const { status, text } = await send(page.path, form)
    expect(status).toBe(400)
    expect(text).toContain('role="alert" tabindex="-1" autofocus')
    expect(text).toContain('id="field-first" name="first" required aria-invalid="true" aria-describedby="error-first"')
    expect(text).toContain('<p class="error" id="error-email">Enter an email address, such as name@example.com.</p>')
    expect(text).toContain('value="ada@"')
    expect(text).toContain('id="error-consent"')
    expect(text).not.toContain('<script')
    expect(tokenIn(text)).toBe(form['-token'])
    expect(await passesOf(workspace, page.slug)).toEqual([])
  })

  test.each([
    ['no token', { '-token': '' }],
    ['a made-up token', { '-token': 'a'.repeat(48) }],
  ])('with %s, the form is shown again with its values and a new token', async (_, wrong) => {
    const workspace = await api.workspace()
    const page = await joinPage(workspace)
    const { status, text } = await send(page.path, { ...(await filled(page.path)), ...wrong })
    expect([status, text.includes('value="Ada"')]).toEqual([400, true])
    const again = await send(page.path, { '-token': tokenIn(text), '-consent': '2027-01', first: 'Ada' })
    expect(again.status).toBe(303)
  })

  test('a visitor who saw an earlier version of the consent has not given consent', async () => {
    const workspace = await api.workspace()
    const page = await joinPage(workspace)
    const form = await filled(page.path)
    const replace = (required: boolean) =>
      workspace.ok(set, {
        params: { id: page.templateId },
        body: pageBody({ slug: page.slug, consent: { text: 'I agree to all.', version: '2027-02', required } }),
      })
    await replace(true)
    const answer = await send(page.path, form)
    expect([answer.status, answer.text.includes('id="error-consent"')]).toEqual([400, true])
    expect(answer.text).not.toContain(' checked')
    await replace(false)
    expect((await send(page.path, form)).status).toBe(303)
    const [pass] = await passesOf(workspace, page.slug)
    expect(pass!.join).toMatchObject({ consentVersion: null, consentedAt: null })
  })

  test('a token of another page, or one that is older than a day, creates nothing', async () => {
    const workspace = await api.workspace()
    const [page, other] = [await joinPage(workspace), await joinPage(workspace)]
    const form = await filled(other.path)
    expect((await send(page.path, form)).status).toBe(400)
    api.advance(24 * 3600 + 1)
    const { status, text } = await send(other.path, form)
    expect([status, text.includes('open for too long')]).toEqual([400, true])
  })

  test.each<[string, string, Record<string, string>]>([
    ['no form', '{}', { 'content-type': 'application/json' }],
    ['bytes that are not UTF-8', 'first=Ada', { 'content-type': 'application/x-www-form-urlencoded; charset=latin1' }],
    ['nothing', '', {}],
  ])('a body with %s shows the form with 400', async (_, body, headers) => {
    const page = await joinPage(await api.workspace())
    const { status, text } = await api.send('POST', page.path, { body, headers })
    expect([status, text.includes('<form')]).toEqual([400, true])
  })

  test('a value of 100 kB is an error of its field, and a body of 300 kB is rejected', async () => {
    const page = await joinPage(await api.workspace())
    const long = await send(page.path, await filled(page.path, { last: 'x'.repeat(100_000) }))
    expect([long.status, long.text.includes('Use at most 500 characters.')]).toEqual([400, true])
    expect((await send(page.path, { first: 'x'.repeat(300_000) })).status).toBe(413)
  })

  test('the page is in the language of the visitor, with a strict policy, and can only send its form here', async () => {
    const page = await joinPage(await api.workspace())
    const { text, headers } = await open(page.path, { 'accept-language': 'ar' })
    expect(text).toContain('<html lang="ar" dir="rtl">')
    expect(text).toContain('احصل على بطاقة القهوة')
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-.{44}'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'$/,
    )
    expect(headers.get('cache-control')).toBe('no-store')
    const english = await open(page.path, { 'accept-language': 'de' })
    expect(english.text).toContain('<h1 dir="auto" lang="en">Get your coffee card</h1>')
    expect(english.text).toContain('>Pass holen</button>')
    expect(english.text).toContain('href="https://coffee.example/terms"')
  })

  test('an error in the list keeps the direction of the page next to a label in another language', async () => {
    const page = await joinPage(await api.workspace())
    const { text } = await send(page.path, await filled(page.path, { first: '' }), { 'accept-language': 'he' })
    expect(text).toMatch(
      /<li><a href="#field-first"><bdi lang="en">First name<\/bdi>: [^<]*[\u0590-\u05ff][^<]*<\/a><\/li>/,
    )
  })

  test.each<[string, object, number]>([
    ['closed', { open: false }, 410],
    ['past its end', { closesAt: '2026-01-01T00:00:00Z' }, 410],
  ])('a page that is %s responds with 410 and names the issuer', async (_, parts, expected) => {
    const page = await joinPage(await api.workspace(), parts)
    const { status, text } = await open(page.path)
    expect([status, text.includes('This page is closed'), text.includes('Harbour Coffee')]).toEqual([
      expected,
      true,
      true,
    ])
    expect((await send(page.path, { first: 'Ada' })).status).toBe(410)
  })

  test('unknown and deleted pages, and pages of deleted templates, are 404', async () => {
    const workspace = await api.workspace()
    const [page, other] = [await joinPage(workspace), await joinPage(workspace)]
    await workspace.ok(contract.joinPages.delete, { params: { id: page.templateId } })
    await workspace.ok(contract.templates.delete, { params: { id: other.templateId } })
    for (const path of [page.path, other.path, '/join/nothing-here', '/join/N%00', '/join/x']) {
      const { status, text } = await open(path)
      expect([path, status, text.includes('This page does not exist')]).toEqual([path, 404, true])
    }
  })

  test('the page of a suspended workspace is closed for now', async () => {
    const workspace = await api.workspace()
    const page = await joinPage(workspace)
    await api.database.writer('workspaces').where({ id: workspace.id }).update({ suspended_at: api.now.getTime() })
    expect((await open(page.path)).status).toBe(410)
  })

  test('values that a new version rejects are errors of their fields', async () => {
    const workspace = await api.workspace()
    const page = await joinPage(workspace)
    const form = await filled(page.path)
    await publishVersion(workspace, page.templateId, {
      ...content,
      variables: [{ name: 'first', label: 'First name', required: true, maxLength: 2 }],
    })
    const { status, text } = await send(page.path, form)
    expect([status, text.includes('Use at most 2 characters.')]).toEqual([400, true])
    expect(text).not.toContain('name="last"')
  })

  test('figures count visits, passes, and first installs by source', async () => {
    const workspace = await api.workspace()
    const page = await joinPage(workspace)
    const path = `${page.path}?source=a/b`
    await send(path, await filled(path))
    await open(page.path)
    await open(page.path, { 'user-agent': 'Googlebot/2.1' })
    await api.services.linkOpens.flush()
    const from = new Date(api.now.getTime() - 3_600_000).toISOString()
    const { items } = await workspace.ok(contract.projects.figures, {
      params: { id: page.projectId },
      query: { from, by: 'day', to: new Date(api.now.getTime() + 3_600_000).toISOString() },
    })
    expect(items[0]!.joined).toEqual({
      'a/b': { seen: 1, submitted: 1, installed: 0 },
      '': { seen: 1, submitted: 0, installed: 0 },
    })
    const other = await makeProject(workspace, 'Other')
    const plain = await workspace.ok(contract.projects.figures, { params: { id: other.id }, query: { from } })
    expect(plain.items[0]).not.toHaveProperty('joined')
  })

  test('figures have 100 sources per hour at most, with any names', async () => {
    const workspace = await api.workspace()
    const page = await joinPage(workspace)
    const path = (source: string) => `${page.path}?source=${source}`
    const names = ['constructor', '__proto__', ...Array.from({ length: 97 }, (_, n) => `seen-${n}`), 'last']
    for (const name of names) await open(path(name))
    const form = await filled(path('last'))
    await send(path('constructor'), form)
    await send(path('made-up'), await filled(path('last')))
    const passes = await passesOf(workspace, page.slug)
    for (const { id } of passes) {
      const { appleToken } = (await api.services.store.passes.find(workspace.id, id))!
      const address = `/apple/v1/devices/phone/registrations/pass.test.api/${id}`
      const headers = { authorization: `ApplePass ${appleToken}` }
      expect((await api.send('POST', address, { body: { pushToken: 'push' }, headers })).status).toBe(201)
    }
    await api.services.linkOpens.flush()
    const time = (hours: number) => new Date(api.now.getTime() + hours * 3_600_000).toISOString()
    const { body } = await workspace.send(
      'GET',
      `/v1/projects/${page.projectId}/figures?from=${time(-1)}&to=${time(1)}&by=day`,
    )
    const joined = new Map(Object.entries((body as { items: { joined: object }[] }).items[0]!.joined))
    expect(joined.size).toBe(101)
    expect(joined.get('__proto__')).toEqual({ seen: 1, submitted: 0, installed: 0 })
    expect(joined.get('constructor')).toEqual({ seen: 1, submitted: 1, installed: 1 })
    expect(joined.get('')).toEqual({ seen: 0, submitted: 1, installed: 1 })
    expect(passes.map(({ join }) => join!.source).sort()).toEqual(['constructor', 'made-up'])
  })

  test('a slug belongs to one template, and a page needs a published version that fits', async () => {
    const workspace = await api.workspace()
    const page = await joinPage(workspace)
    const other = await publishedTemplate(await api.workspace(), { definition: content })
    const stranger = await api.workspace()
    const theirs = await publishedTemplate(stranger, { definition: content })
    const body = pageBody({ slug: page.slug })
    const taken = await stranger.call(set, { params: { id: theirs.id }, body })
    expect([taken.status, taken.body]).toMatchObject([409, { errorCode: 'CONFLICT', details: { slug: page.slug } }])
    expect((await stranger.call(set, { params: { id: other.id }, body })).status).toBe(404)
    const draft = await workspace.ok(contract.templates.create, { body: { name: 'Draft', passType: 'generic' } })
    expect((await workspace.call(set, { params: { id: draft.id }, body: pageBody() })).status).toBe(409)
    const wrong = await workspace.call(set, {
      params: { id: page.templateId },
      body: pageBody({ fields: [{ variable: 'nope' }], labelFrom: ['x'] }),
    })
    expect([wrong.status, (wrong.body as { errorCode: string }).errorCode]).toEqual([400, 'VALIDATION_ERROR'])
    const identity = await workspace.call(set, {
      params: { id: page.templateId },
      body: pageBody({ identity: 'email' }),
    })
    expect([identity.status, (identity.body as { errorCode: string }).errorCode]).toEqual([409, 'CONFLICT'])
  })
})

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect, { joinLimits: createJoinLimits({ perAddress: 30, perPage: 0 }) })

  test('concurrent submissions never exceed the limit of a page, and a full address waits', async () => {
    const workspace = await api.workspace()
    const page = await joinPage(workspace, { limit: 5 })
    const submit = async () => {
      const { text } = await api.send('GET', page.path)
      const form = { '-token': tokenIn(text), '-consent': '2027-01', first: 'Ada' }
      return api.send('POST', page.path, {
        body: new URLSearchParams(form).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      })
    }
    const forms = await Promise.all(Array.from({ length: 12 }, submit))
    const statuses = forms.map(({ status }) => status)
    expect(statuses.filter((status) => status === 303)).toHaveLength(5)
    expect(statuses.filter((status) => status === 410)).toHaveLength(7)
    expect((await workspace.ok(get, { params: { id: page.templateId } })).joined).toBe(5)

    const more = await Promise.all(
      Array.from({ length: 25 }, () => api.send('POST', page.path, { body: '', headers: {} })),
    )
    const rejected = more.find(({ status }) => status === 429)!
    expect(rejected.text).toMatch(/Go back and send the form again in \d+ seconds?\./)
    expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(0)
  })
})
