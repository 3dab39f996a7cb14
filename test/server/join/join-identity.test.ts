import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import { onDiscard } from '../../../src/server/background/job-handlers.ts'
import { noteMail } from '../../../src/server/boot/serve.ts'
import { createMailer } from '../../../src/server/mail/mailer.ts'
import { type Api, type TestWorkspace, useApi } from '../../support/api.ts'
import { dialects } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { linkIn, Mailbox, textsIn } from '../../support/mailbox.ts'
import { definition, makeProject, publishedTemplate, publishVersion } from '../fixtures.ts'

let pages = 0

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  const mailbox = new Mailbox()
  let port: number

  beforeAll(async () => {
    port = await mailbox.start()
    const mail = createMailer(
      { url: `smtp://127.0.0.1:${port}`, from: 'Coffee <cards@coffee.example>' },
      noteMail(api.services),
    )
    api.services.mail = mail
    api.app = api.createApp(api.services)
  })
  afterAll(async () => {
    api.services.mail?.close()
    await mailbox.stop()
  })

  async function joinPage(workspace: TestWorkspace, parts: object = {}) {
    pages += 1
    const project = await makeProject(workspace, 'Coffee')
    const variables = [{ name: 'email', label: 'Email', format: 'email' as const }]
    const design = { ...definition().design, fields: {} }
    const content = definition({ variables, design, languages: { default: 'en', others: ['ar'] } })
    const template = await publishedTemplate(workspace, { definition: content, projectId: project.id })
    const page = await workspace.ok(contract.joinPages.set, {
      params: { id: template.id },
      body: {
        slug: `identity-${dialect}-${pages}`,
        title: { en: 'Coffee card', ar: 'بطاقة القهوة' },
        fields: [{ variable: 'email' }],
        labelFrom: ['{{email}}'],
        consent: { text: 'I agree.', version: '1', required: false },
        identity: 'email',
        ...parts,
      },
    })
    return { ...page, path: `/join/${page.slug}` }
  }

  const join = (path: string, email: string, headers: Record<string, string> = {}) => submit(api, path, email, headers)
  const passesOf = async (workspace: TestWorkspace) => (await workspace.ok(contract.passes.list, {})).items
  const joinedOf = async (workspace: TestWorkspace, { templateId: id }: { templateId: string }) =>
    (await workspace.ok(contract.joinPages.get, { params: { id } })).joined

  test('an address gets one pass, whose link is mailed at most once a minute, also in another case', async () => {
    const workspace = await api.workspace()
    const page = await joinPage(workspace)
    const first = await join(page.path, 'ada@example.com')
    expect([first.status, first.headers.get('location')]).toEqual([303, `${page.slug}?sent`])
    expect(await passesOf(workspace)).toEqual([])
    await api.runJobs()
    const [pass, ...none] = await passesOf(workspace)
    expect(none).toEqual([])
    expect(pass).toMatchObject({ label: 'ada@example.com', join: { consentVersion: null, consentedAt: null } })
    const mails = () => mailbox.received.filter(({ to }) => to[0] === 'ada@example.com')
    expect(mails()).toHaveLength(1)
    expect(mails()[0]!.from).toBe('cards@coffee.example')
    const link = await api.send('GET', new URL(linkIn(mails()[0]!)).pathname)
    expect([link.status, link.text.includes('ada@example.com')]).toEqual([200, true])

    const again = await join(page.path, 'ADA@Example.COM')
    expect([again.status, again.headers.get('location')]).toEqual([first.status, first.headers.get('location')])
    await api.runJobs()
    expect([mails().length, (await passesOf(workspace)).length]).toEqual([1, 1])
    api.advance(60)
    await join(page.path, 'ADA@Example.COM')
    await api.runJobs()
    expect([mails().length, (await passesOf(workspace)).length]).toEqual([2, 1])
    expect(await joinedOf(workspace, page)).toBe(1)
  })

  test('the email is in the language of the visitor, and contains nothing that the visitor typed', async () => {
    const page = await joinPage(await api.workspace())
    await join(page.path, 'spam+buy-now@example.org', { 'accept-language': 'ar' })
    await api.runJobs()
    const email = mailbox.received.find(({ to }) => to[0] === 'spam+buy-now@example.org')!
    const [head = ''] = email.content.split('\r\n\r\n')
    expect(head).toContain('Subject: =?UTF-8?')
    expect(head).toContain('Auto-Submitted: auto-generated')
    const [text, html] = textsIn(email)
    for (const part of [text, html]) {
      expect(part).toContain('بطاقة القهوة')
      expect(part).not.toContain('buy-now')
    }
    expect(html).toContain('<html lang="ar" dir="rtl">')
  })

  test('the responses to a known and a new address are the same, and the form page is not the link', async () => {
    const page = await joinPage(await api.workspace())
    await join(page.path, 'known@example.com')
    await api.runJobs()
    const [known, fresh] = [await join(page.path, 'known@example.com'), await join(page.path, 'new@example.com')]
    const shapeOf = ({ status, text, headers }: typeof known) => {
      const { 'x-correlation-id': _, ...others } = Object.fromEntries(headers)
      return { status, text, headers: others }
    }
    expect(shapeOf(known)).toEqual(shapeOf(fresh))
    const sent = await api.send('GET', `${page.path}?sent`)
    expect([sent.status, sent.text.includes('Check your email'), sent.text.includes('/l/')]).toEqual([200, true, false])
  })

  test('concurrent submissions of an address create one pass', async () => {
    const workspace = await api.workspace()
    const page = await joinPage(workspace, { limit: 5 })
    await Promise.all(['a@b.example', 'A@b.example', 'a@B.example', 'A@B.EXAMPLE'].map((one) => join(page.path, one)))
    await api.runJobs()
    expect(await passesOf(workspace)).toHaveLength(1)
    expect(await joinedOf(workspace, page)).toBe(1)
    expect(mailbox.received.filter(({ to }) => to[0]!.toLowerCase() === 'a@b.example')).toHaveLength(1)
  })

  test('a visitor who goes back and corrects the address gets a pass and an email for it', async () => {
    const workspace = await api.workspace()
    const page = await joinPage(workspace)
    const token = await tokenOf(api, page.path)
    const correct = (email: string) => send(api, page.path, { '-token': token, email })
    await correct('mistyped@example.com')
    await correct('hasty@example.com')
    await api.runJobs()
    await correct('Hasty@example.com')
    await correct('corrected@example.com')
    await api.runJobs()
    const labels = (await passesOf(workspace)).map(({ label }) => label).sort()
    expect(labels).toEqual(['corrected@example.com', 'hasty@example.com', 'mistyped@example.com'])
    for (const email of ['hasty@example.com', 'corrected@example.com'])
      expect(mailbox.received.filter(({ to }) => to[0] === email)).toHaveLength(1)
    expect(await joinedOf(workspace, page)).toBe(3)
  })

  test('a page whose new version has no email variable for the identity is closed', async () => {
    const workspace = await api.workspace()
    const page = await joinPage(workspace)
    const design = { ...definition().design, fields: {} }
    const languages = { default: 'en', others: ['ar'] }
    const variables = [{ name: 'email', label: 'Email' }]
    await publishVersion(workspace, page.templateId, definition({ variables, design, languages }))
    expect((await api.send('GET', page.path)).status).toBe(410)
    expect((await api.send('GET', `${page.path}?sent`)).status).toBe(200)
  })

  test('an email waits while the SMTP server is down, and is sent when it is back', async () => {
    const page = await joinPage(await api.workspace())
    await mailbox.stop()
    await join(page.path, 'patient@example.com')
    await expect(api.runJobs()).rejects.toMatchObject({ name: 'RescheduleError', countsAsAttempt: false })
    await mailbox.start(port)
    await api.database.writer('jobs').where({ kind: 'send-join-link' }).update({ claim_token: null })
    // The claim of the failed run ends.
    api.advance(11)
    await api.runJobs()
    expect(mailbox.received.filter(({ to }) => to[0] === 'patient@example.com')).toHaveLength(1)
  })

  test.each([
    [550, 'is discarded', { name: 'DiscardError', message: 'The SMTP server rejected the email with 550.' }],
    [450, 'makes an attempt', { name: 'RescheduleError', countsAsAttempt: true }],
    [421, 'waits', { name: 'RescheduleError', countsAsAttempt: false }],
  ])(
    'an email whose address is rejected with %i %s, and its error does not name the address',
    async (code, _, expected) => {
      const page = await joinPage(await api.workspace())
      mailbox.recipientCode = code
      await join(page.path, 'nobody@example.com')
      const error = await api.runJobs().catch((thrown: Error) => thrown)
      mailbox.recipientCode = 250
      expect(error).toMatchObject(expected)
      expect(inspect(error)).not.toContain('nobody')
      await api.database.writer('jobs').where({ kind: 'send-join-link' }).delete()
    },
  )

  test('if the SMTP server rejects the sender, emails wait and an alert starts, until it accepts one', async () => {
    const page = await joinPage(await api.workspace())
    const isDown = async () => (await api.services.metrics.mailDown.get()).values[0]!.value
    mailbox.senderCode = 550
    await join(page.path, 'waits@example.com')
    await expect(api.runJobs()).rejects.toMatchObject({ name: 'RescheduleError', countsAsAttempt: false })
    expect(await isDown()).toBe(1)
    mailbox.senderCode = 250
    await api.database.writer('jobs').where({ kind: 'send-join-link' }).update({ claim_token: null })
    api.advance(11)
    await api.runJobs()
    expect([await isDown(), mailbox.received.filter(({ to }) => to[0] === 'waits@example.com').length]).toEqual([0, 1])
  })

  test('a full page mails the link to a known address, and its response is the same for every address', async () => {
    const workspace = await api.workspace()
    const page = await joinPage(workspace, { limit: 1, consent: { text: 'I agree.', version: '1', required: true } })
    const early = await tokenOf(api, page.path)
    await submit(api, page.path, 'member@example.com', {}, { '-consent': '1' })
    await api.runJobs()
    api.advance(60)
    const shown = await api.send('GET', page.path)
    expect([shown.status, shown.text.includes('All passes are taken'), shown.text.includes('id="consent"')]).toEqual([
      410,
      true,
      false,
    ])
    const known = await submit(api, page.path, 'MEMBER@example.com')
    const fresh = await submit(api, page.path, 'stranger@example.com')
    const earlier = await send(api, page.path, { '-token': early, '-consent': '1', email: 'early@example.com' })
    expect([known.status, fresh.status, fresh.text, earlier.text]).toEqual([410, 410, known.text, known.text])
    expect((await submit(api, page.path, 'member@')).status).toBe(400)
    await api.runJobs()
    const received = (email: string) => mailbox.received.filter(({ to }) => to[0] === email).length
    expect(['member', 'stranger', 'early'].map((name) => received(`${name}@example.com`))).toEqual([2, 0, 0])
    expect(await passesOf(workspace)).toHaveLength(1)
    expect(await joinedOf(workspace, page)).toBe(1)
  })

  test('concurrent submissions for the last place create one pass, and the others hold no place', async () => {
    const workspace = await api.workspace()
    const page = await joinPage(workspace, { limit: 1 })
    const answers = await Promise.all(['p', 'q', 'r', 's'].map((name) => join(page.path, `${name}@last.example`)))
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 410, 410, 410])
    await api.runJobs()
    expect([(await passesOf(workspace)).length, await joinedOf(workspace, page)]).toEqual([1, 1])
  })

  test('a discarded submission releases its place once, and takes one again if its job is retried', async () => {
    const workspace = await api.workspace()
    const page = await joinPage(workspace, { limit: 1 })
    await join(page.path, 'unlucky@example.com')
    const { store } = api.services
    const discard = (at: Date) =>
      store.transaction(async (tx) => {
        const [job] = await api.database.reader('jobs').where({ kind: 'process-join' }).select('subject')
        const discarded = { workspaceId: workspace.id, subject: job.subject as string, correlationId: null }
        await onDiscard['process-join']!(tx, discarded, 'broken', at)
      })
    await discard(api.now)
    await discard(api.now)
    expect(await joinedOf(workspace, page)).toBe(0)
    await api.runJobs()
    expect([(await passesOf(workspace)).length, await joinedOf(workspace, page)]).toEqual([1, 1])
  })

  test('an update of the address moves the pass to the new address, and frees the old one', async () => {
    const workspace = await api.workspace()
    const page = await joinPage(workspace)
    await join(page.path, 'old@example.com')
    await join(page.path, 'taken@example.com')
    await api.runJobs()
    const pass = (await passesOf(workspace)).find(({ label }) => label === 'old@example.com')!
    const update = (email: string | null) =>
      workspace.call(contract.passes.update, { params: { id: pass.id }, body: { variables: { email } } })
    expect((await update('TAKEN@example.com')).status).toBe(409)
    expect((await update('moved@example.com')).status).toBe(200)
    await join(page.path, 'MOVED@example.com')
    await join(page.path, 'old@example.com')
    await api.runJobs()
    expect(await passesOf(workspace)).toHaveLength(3)
    const moved = mailbox.received.filter(({ to }) => to[0] === 'moved@example.com')
    expect(moved).toHaveLength(1)
    const link = await api.send('GET', new URL(linkIn(moved[0]!)).pathname)
    expect(link.text).toContain('old@example.com')
    expect((await update(null)).status).toBe(200)
    expect(await api.database.reader('join_identities').where({ pass_id: pass.id })).toEqual([])
  })

  test.skipIf(dialect === 'sqlite')('a visitor joins a page without an identity while it is replaced', async () => {
    const workspace = await api.workspace()
    const page = await joinPage(workspace, { identity: undefined })
    const { reader } = api.database
    const waiting = () =>
      reader('pg_stat_activity').where({ wait_event_type: 'Lock' }).whereRaw('datname = current_database()')
    const { answer } = await api.services.store.transaction(async (tx) => {
      await tx.templates.findForUpdate(workspace.id, page.templateId)
      const answer = join(page.path, 'ada@example.com')
      await eventually(async () => expect(await waiting()).toHaveLength(1))
      const stored = await tx.joinPages.find(workspace.id, page.templateId)
      await tx.joinPages.set(workspace.id, page.templateId, stored!, api.now)
      return { answer }
    })
    expect((await answer).headers.get('location')).toContain('/l/')
    expect(await joinedOf(workspace, page)).toBe(1)
  })

  test('erasing a pass frees its address, and so does a transfer', async () => {
    const workspace = await api.workspace()
    const page = await joinPage(workspace)
    await join(page.path, 'gone@example.com')
    await api.runJobs()
    const [pass] = await passesOf(workspace)
    await workspace.ok(contract.passes.transfer, {
      params: { id: pass!.id },
      body: { label: 'Grace', variables: { email: 'grace@example.com' } },
    })
    const transferred = await workspace.ok(contract.passes.get, { params: { id: pass!.id } })
    expect(transferred.join).toMatchObject({ slug: page.slug, consentVersion: null })
    expect(await api.database.reader('join_identities').where({ pass_id: pass!.id })).toEqual([])
    await join(page.path, 'gone@example.com')
    await api.runJobs()
    expect(await passesOf(workspace)).toHaveLength(2)
  })
})

test('a server without a greeting does not hold a job longer than its timeout', async () => {
  const mute = createServer().listen(0, '127.0.0.1')
  await once(mute, 'listening')
  const { port } = mute.address() as AddressInfo
  const mailer = createMailer({ url: `smtp://127.0.0.1:${port}?greetingTimeout=100`, from: 'a@b.example' })
  const email = { to: 'c@d.example', subject: 's', text: 't', html: 'h', id: '1' }
  await expect(mailer.send(email)).rejects.toMatchObject({ name: 'RescheduleError', countsAsAttempt: false })
  mailer.close()
  mute.close()
})

async function submit(api: Api, path: string, email: string, headers: Record<string, string> = {}, more: object = {}) {
  return send(api, path, { '-token': await tokenOf(api, path, headers), email, ...more }, headers)
}

async function tokenOf(api: Api, path: string, headers: Record<string, string> = {}): Promise<string> {
  const { text } = await api.send('GET', path, { headers })
  return /name="-token" value="([\w-]{48})"/.exec(text)![1]!
}

function send(api: Api, path: string, form: Record<string, string>, headers: Record<string, string> = {}) {
  return api.send('POST', path, {
    body: new URLSearchParams(form).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  })
}
