import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
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
    const mail = createMailer({ url: `smtp://127.0.0.1:${port}`, from: 'Coffee <cards@coffee.example>' })
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
    expect((await workspace.ok(contract.joinPages.get, { params: { id: page.templateId } })).joined).toBe(1)
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
    expect((await workspace.ok(contract.joinPages.get, { params: { id: page.templateId } })).joined).toBe(1)
    expect(mailbox.received.filter(({ to }) => to[0]!.toLowerCase() === 'a@b.example')).toHaveLength(1)
  })

  test('a visitor who goes back and corrects the address gets a pass and an email for it', async () => {
    const workspace = await api.workspace()
    const page = await joinPage(workspace)
    const { text } = await api.send('GET', page.path)
    const token = /name="-token" value="([\w-]{48})"/.exec(text)![1]!
    const send = (email: string) =>
      api.send('POST', page.path, {
        body: new URLSearchParams({ '-token': token, email }).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      })
    await send('mistyped@example.com')
    await send('hasty@example.com')
    await api.runJobs()
    await send('Hasty@example.com')
    await send('corrected@example.com')
    await api.runJobs()
    const labels = (await passesOf(workspace)).map(({ label }) => label).sort()
    expect(labels).toEqual(['corrected@example.com', 'hasty@example.com', 'mistyped@example.com'])
    for (const email of ['hasty@example.com', 'corrected@example.com'])
      expect(mailbox.received.filter(({ to }) => to[0] === email)).toHaveLength(1)
    expect((await workspace.ok(contract.joinPages.get, { params: { id: page.templateId } })).joined).toBe(3)
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
    expect((await workspace.ok(contract.joinPages.get, { params: { id: page.templateId } })).joined).toBe(1)
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

async function submit(api: Api, path: string, email: string, headers: Record<string, string>) {
  const { text } = await api.send('GET', path, { headers })
  const token = /name="-token" value="([\w-]{48})"/.exec(text)![1]!
  return api.send('POST', path, {
    body: new URLSearchParams({ '-token': token, email }).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  })
}
