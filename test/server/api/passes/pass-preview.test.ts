import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { describe, expect, test } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import { sandboxIdentities, type TestWorkspace, useApi } from '../../../support/api.ts'
import { oneDialect, temporaryFolder } from '../../../support/databases.ts'
import { definition, issuedPass, makePass, makeTemplate, publishedTemplate } from '../../fixtures.ts'
import { changed, traces } from './pass-changes.ts'

const { preview } = contract.passes

interface Preview {
  apple: Record<string, unknown> | null
  google: { class: Record<string, unknown>; object: Record<string, unknown> } | null
}

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)

  const previewOf = async (workspace: TestWorkspace, id: string, query = {}) =>
    (await workspace.ok(preview, { params: { id }, query })) as unknown as Preview

  test('shows the content of each platform for the current pass', async () => {
    const workspace = await api.workspace()
    const { id, templateId } = await issuedPass(workspace, { label: 'Ada', variables: { seat: 'B7' } })
    const first = await previewOf(workspace, id)
    expect(first.apple).toMatchObject({ serialNumber: id, organizationName: 'Harbour Cinema' })
    expect(first.apple).not.toHaveProperty('voided')
    expect(first.google!.object).toMatchObject({ id: expect.stringContaining(id), state: 'ACTIVE' })
    expect(first.google!.class.id).toBe(first.google!.object.classId)
    expect(String(first.google!.class.id)).toContain(templateId!)
    for (const platform of [first.apple, first.google]) {
      for (const part of ['Ada', 'B7', 'Green']) expect(JSON.stringify(platform)).toContain(part)
    }
    await changed(workspace, id, { label: 'Grace', variables: { tier: 'Gold' } })
    const second = await previewOf(workspace, id)
    for (const platform of [second.apple, second.google]) {
      for (const part of ['Grace', 'B7', 'Gold']) expect(JSON.stringify(platform)).toContain(part)
    }
  })

  test('platform asks for one of them', async () => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace)
    const both = await previewOf(workspace, id)
    expect(await previewOf(workspace, id, { platform: 'apple' })).toEqual({ ...both, google: null })
    expect(await previewOf(workspace, id, { platform: 'google', format: 'json' })).toEqual({ ...both, apple: null })
  })

  test('format=pkpass is the signed file, which openssl accepts with only the root', async () => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace)
    const query = { platform: 'apple', format: 'pkpass' } as const
    const answer = await workspace.call(preview, { params: { id }, query })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/vnd.apple.pkpass'])
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const folder = await unpack(answer.bytes)
    expect(JSON.parse(readFileSync(join(folder, 'pass.json'), 'utf8'))).toEqual((await previewOf(workspace, id)).apple)
    expect(readdirSync(folder)).toContain('icon.png')
    await expect(verify(folder)).resolves.toMatchObject({ exitCode: 0 })
    writeFileSync(join(folder, 'manifest.json'), '{}')
    await expect(verify(folder)).rejects.toMatchObject({ exitCode: 4 })
  })

  test('format=html is a page with both phones, or the one that is asked for, under a strict policy', async () => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace, { label: 'Ada <b>', variables: { seat: 'B7' } })
    const answer = await workspace.call(preview, { params: { id }, query: { format: 'html' } })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(answer.headers.get('content-security-policy')).toMatch(/^default-src 'none';.* img-src data:;/)
    for (const part of ['Apple Wallet', 'Google Wallet', 'B7', 'Ada &#60;b&#62;']) expect(answer.text).toContain(part)
    expect(answer.text).not.toContain('<b>')
    const query = { format: 'html', platform: 'google' } as const
    const one = await workspace.call(preview, { params: { id }, query })
    expect(one.text).not.toContain('Apple Wallet')
    await workspace.ok(contract.passes.void, { params: { id } })
    const over = await workspace.call(preview, { params: { id }, query: { format: 'html' } })
    expect(over.text).toContain('<p class="stamp">VOID</p>')
    expect(over.text).toContain('<p class="stamp">INACTIVE</p>')
  })

  test('language selects the language of phones; an unknown one is rejected with those of the definition', async () => {
    const workspace = await api.workspace()
    const translated = {
      languages: { default: 'pt', others: ['en', 'ar'] },
      variables: [],
      design: {
        organizationName: { pt: 'Porto', en: 'Harbour', ar: 'ميناء' },
        description: 'D',
        fields: {
          primary: [
            { key: 'day', label: { pt: 'Dia', en: 'Day', ar: 'يوم' }, value: '2027-05-31', as: 'date' as const },
          ],
        },
      },
    }
    const { id, templateVersionId } = await issuedPass(workspace, { definition: translated, variables: {} })
    const versionId = templateVersionId!
    const day = (language: string) =>
      new Intl.DateTimeFormat(language, { dateStyle: 'short', timeZone: 'UTC' }).format(new Date('2027-05-31'))
    const expected = { ar: ['ميناء', 'يوم'], pt: ['Porto', 'Dia'], en: ['Harbour', 'Day'] }
    for (const [language, [name, label]] of Object.entries(expected)) {
      const ofVersion = { params: { id: versionId }, query: { language } }
      const sample = (await workspace.ok(contract.templateVersions.preview, ofVersion)) as unknown as Preview
      for (const { apple, google } of [await previewOf(workspace, id, { language }), sample]) {
        expect(apple).toMatchObject({ organizationName: name, [styleOf(apple!)]: { primaryFields: [{ label }] } })
        expect(JSON.stringify(google)).not.toContain('translatedValues')
        for (const text of [name, label, day(language)]) expect(JSON.stringify(google)).toContain(text)
      }
      const page = await workspace.call(preview, { params: { id }, query: { language, format: 'html' } })
      const direction = language === 'ar' ? 'rtl' : 'ltr'
      expect(page.text.split(`dir="${direction}" lang="${language}"`)).toHaveLength(3)
      expect(page.text.split(day(language)).length).toBeGreaterThan(2)
    }
    const [rejection, ofVersion] = [
      await workspace.refused(preview, { params: { id }, query: { language: 'de' } }),
      await workspace.refused(contract.templateVersions.preview, {
        params: { id: versionId },
        query: { language: 'de' },
      }),
    ]
    for (const refused of [rejection, ofVersion]) {
      expect(refused).toMatchObject({ status: 400, errorCode: 'VALIDATION_ERROR' })
      expect(JSON.stringify(refused)).toContain('pt, en, ar')
    }
    const { id: plain } = await issuedPass(workspace)
    const unnamed = await workspace.refused(preview, { params: { id: plain }, query: { language: 'en' } })
    expect(JSON.stringify(unnamed)).toContain('names no languages')
  })

  test('a void pass is shown as void, on both platforms and in the file', async () => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace)
    await workspace.ok(contract.passes.void, { params: { id } })
    const { apple, google } = await previewOf(workspace, id)
    expect([apple!.voided, google!.object.state]).toEqual([true, 'INACTIVE'])
    const query = { platform: 'apple', format: 'pkpass' } as const
    const folder = await unpack((await workspace.call(preview, { params: { id }, query })).bytes)
    expect(JSON.parse(readFileSync(join(folder, 'pass.json'), 'utf8'))).toMatchObject({ voided: true })
    await expect(verify(folder)).resolves.toMatchObject({ exitCode: 0 })
  })

  test('a preview changes nothing: a QUEUED pass stays queued', async () => {
    const workspace = await api.workspace()
    const template = await publishedTemplate(workspace)
    const { id } = await makePass(workspace, template.id)
    const before = await traces(workspace, id)
    await previewOf(workspace, id)
    await workspace.call(preview, { params: { id }, query: { platform: 'apple', format: 'pkpass' } })
    expect(await traces(workspace, id)).toEqual(before)
  })

  test('previews a pass that no phone accepts', async () => {
    const workspace = await api.workspace()
    const broken = {
      variables: [{ name: 'seat', label: 'Seat', default: 'x' }],
      design: { organizationName: 'O', description: 'D' },
      apple: { description: '{{seat}}' },
    }
    const { id, status } = await issuedPass(workspace, { definition: broken, variables: { seat: '' } })
    expect(status).toBe('FAILED')
    expect((await previewOf(workspace, id)).apple).toMatchObject({ description: '' })
    const query = { platform: 'apple', format: 'pkpass' } as const
    expect((await workspace.call(preview, { params: { id }, query })).status).toBe(200)
  })

  test.each([
    { format: 'pkpass' },
    { format: 'pkpass', platform: 'google' },
    { format: 'png' },
    { platform: 'samsung' },
    { platform: '' },
    { size: '2' },
    { language: '' },
    { format: 'pkpass', platform: 'apple', language: 'en' },
  ])('rejects %j', async (query) => {
    const workspace = await api.workspace()
    const { id } = await issuedPass(workspace)
    const rejection = await workspace.refused(preview, { params: { id }, query: query as never })
    expect(rejection).toMatchObject({ status: 400, errorCode: 'VALIDATION_ERROR' })
  })

  test('a pass of another workspace is 404 PASS_NOT_FOUND', async () => {
    const [workspace, other] = [await api.workspace(), await api.workspace()]
    const { id } = await issuedPass(workspace)
    expect(await other.refused(preview, { params: { id } })).toMatchObject({ status: 404, errorCode: 'PASS_NOT_FOUND' })
  })

  test('a version, even a draft, previews a sample: examples, else defaults, else generated values', async () => {
    const workspace = await api.workspace()
    const template = await makeTemplate(workspace)
    const content = definition({
      variables: [
        { name: 'tier', label: 'Tier', default: 'Green', example: 'Platinum' },
        { name: 'seat', label: 'Seat', default: 'Any seat' },
        { name: 'day', label: 'Day', format: 'date' },
      ],
      expiresAt: '{{day}}',
    })
    const draft = await workspace.ok(contract.templates.createVersion, {
      params: { id: template.id },
      body: { definition: content },
    })
    const route = contract.templateVersions.preview
    const sample = (await workspace.ok(route, { params: { id: draft.id } })) as unknown as Preview & { card: unknown }
    for (const part of [sample.card, sample.apple, sample.google]) {
      for (const value of ['Platinum', 'Any seat']) expect(JSON.stringify(part)).toContain(value)
    }
    expect(sample.apple).toMatchObject({ expirationDate: expect.stringMatching(/^2030-01-31T23:59:59/) })

    const page = await workspace.call(route, { params: { id: draft.id }, query: { format: 'html' } })
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(page.text).toContain('Platinum')
    const other = await api.workspace()
    expect(await other.refused(route, { params: { id: draft.id } })).toMatchObject({ errorCode: 'TEMPLATE_NOT_FOUND' })
  })

  async function verify(folder: string) {
    const root = join(temporaryFolder(), 'root.pem')
    writeFileSync(root, sandboxIdentities().applePems.rootPem)
    const what = ['-in', 'signature', '-content', 'manifest.json', '-CAfile', root, '-out', join(folder, 'content')]
    const time = ['-attime', String(Math.floor(api.now.getTime() / 1000))]
    const args = ['cms', '-verify', '-inform', 'DER', '-binary', '-purpose', 'any', ...what, ...time]
    return execa('openssl', args, { cwd: folder })
  }
})

/** Unpacks an archive with unzip, which checks every CRC. */
async function unpack(archive: Buffer): Promise<string> {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'pass.pkpass'), archive)
  await execa('unzip', ['-q', 'pass.pkpass', '-d', 'out'], { cwd: folder })
  return join(folder, 'out')
}

/** The key of the style of a pass. */
function styleOf(passJson: Record<string, unknown>): string {
  return ['generic', 'eventTicket', 'storeCard', 'coupon', 'boardingPass'].find((style) => style in passJson)!
}
