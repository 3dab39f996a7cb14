import { unzipSync } from 'fflate'
import { describe, expect, test, vi } from 'vitest'
import { contract } from '../../../../src/core/contract/contract.ts'
import { erasePass } from '../../../../src/server/operator/erase-pass.ts'
import { createIssuing } from '../../../../src/server/wallet-sync/issuing.ts'
import type { Wallet } from '../../../../src/wallets/wallet.ts'
import { type TestWorkspace, useApi } from '../../../support/api.ts'
import { dialects } from '../../../support/databases.ts'
import { eventually } from '../../../support/eventually.ts'
import { definition, makePass, passBody, publishedTemplate } from '../../fixtures.ts'
import { png } from '../templates/pictures.ts'

let shade = 0

/** Uploads a different image on each call. */
async function upload(workspace: TestWorkspace): Promise<string> {
  shade += 1
  const body = await png({ width: 90, height: 90, color: `#${shade.toString(16).padStart(6, '0')}` })
  return (await workspace.ok(contract.images.create, { body, contentType: 'image/png' })).id
}

const photo = { name: 'photo', label: 'Photo', format: 'image' as const }

function withPhoto(images: object = { thumbnail: '{{photo}}' }) {
  const { design } = definition()
  return definition({
    variables: [photo, { name: 'stamps', label: 'Stamps' }],
    design: { ...design, images, fields: {} },
    photo: '{{photo}}',
  })
}

interface Preview {
  google: { class: object; object: { imageModulesData: object; heroImage: { sourceUri: { uri: string } } } }
}

const nobodys = '0198c7a2-70aa-8b1c-8f4e-3d2b9c6a1f27'

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  const erase = (workspace: TestWorkspace, id: string) =>
    erasePass({ store: api.services.store, database: api.database }, workspace.id, id, api.now)
  const left = async (ids: string[]) => (await api.database.reader('images').whereIn('id', ids).pluck('id')).length

  test('the check before issuing includes images in each language', async () => {
    const workspace = await api.workspace()
    const images = { logo: { en: '{{photo}}', de: await upload(workspace) } }
    const content = { ...withPhoto(images), languages: { default: 'en', others: ['de'] } }
    const template = await publishedTemplate(workspace, { definition: content })
    const own = await upload(workspace)
    const { id } = await makePass(workspace, template.id, { variables: { photo: own } })
    const check = vi.fn<Wallet['check']>()
    const { store, wallets, clock } = api.services
    const issuing = createIssuing(store, { ...wallets, all: [{ platform: 'apple', account: '', check }] })
    await issuing.prepare(workspace.id, [id], clock())
    const { logo } = images
    expect(check.mock.calls.map(([{ card, translatedImages }]) => [card.images, translatedImages])).toEqual([
      [{ logo: own }, [expect.objectContaining({ language: 'de', images: { logo: logo.de } })]],
    ])
  })

  test('a holder image must belong to the workspace, at create and update, and is queried once per batch', async () => {
    const workspace = await api.workspace()
    const other = await api.workspace()
    const { id: templateId } = await publishedTemplate(workspace, { definition: withPhoto() })
    const [own, foreign] = [await upload(workspace), await upload(other)]
    const items = [own, nobodys, foreign, 'photo.png'].map((id) => passBody(templateId, { variables: { photo: id } }))
    const { results } = await workspace.ok(contract.passes.createBatch, { body: { passes: items } })
    const paths = results.map(({ error }) => (error?.details as { issues?: { path: unknown }[] })?.issues?.[0]?.path)
    expect(paths).toEqual([undefined, ...Array(3).fill(['variables', 'photo'])])

    const params = { id: results[0]!.pass!.id }
    for (const query of [{}, { dryRun: true }]) {
      const refused = await workspace.refused(contract.passes.update, {
        params,
        query,
        body: { variables: { photo: foreign } },
      })
      expect(refused).toMatchObject({
        errorCode: 'VALIDATION_ERROR',
        details: { issues: [{ path: ['variables', 'photo'] }] },
      })
    }
    const next = await upload(workspace)
    await workspace.ok(contract.passes.update, { params, body: { variables: { photo: next } } })
    const { pass } = await workspace.ok(contract.scans.create, { body: { passId: params.id } })
    expect(pass?.photoUrl).toBe(`https://passes.example/images/${next}`)
  })

  test('packages and objects show images of the holder and the state, and classes neither', async () => {
    const workspace = await api.workspace()
    const [mine, none, some, full] = await Promise.all([1, 2, 3, 4].map(() => upload(workspace)))
    const content = withPhoto({
      thumbnail: '{{photo}}',
      hero: { by: '{{stamps}}', map: { '': none, '10': full }, else: some },
    })
    const { id: templateId } = await publishedTemplate(workspace, { definition: content })
    const heroes = []
    for (const stamps of ['', '3', '10']) {
      const { id } = await makePass(workspace, templateId, { variables: { photo: mine!, stamps } })
      const preview = await workspace.ok(contract.passes.preview, { params: { id } })
      const { class: ofClass, object } = (preview as unknown as Preview).google
      expect(JSON.stringify(ofClass)).not.toContain(mine)
      expect(JSON.stringify(object.imageModulesData)).toContain(mine)
      heroes.push(object.heroImage.sourceUri.uri.split('/').at(-1))
      const query = { platform: 'apple' as const, format: 'pkpass' as const }
      const archive = unzipSync((await workspace.call(contract.passes.preview, { params: { id }, query })).bytes)
      expect(Object.keys(archive)).toEqual(expect.arrayContaining(['icon.png', 'thumbnail.png']))
      const manifest = JSON.parse(Buffer.from(archive['manifest.json']!).toString())
      expect(Object.keys(manifest).toSorted()).toEqual(
        Object.keys(archive)
          .filter((name) => !['manifest.json', 'signature'].includes(name))
          .toSorted(),
      )
    }
    expect(heroes).toEqual([none, some, full])
  })

  test('publishing rejects a missing image, and a variable without an image', async () => {
    const workspace = await api.workspace()
    const template = await workspace.ok(contract.templates.create, { body: { name: 'T', passType: 'generic' } })
    const content = withPhoto({ logo: '{{stamps}}', strip: { by: '{{stamps}}', map: { '0': nobodys } } })
    const draft = await workspace.ok(contract.templates.createVersion, {
      params: { id: template.id },
      body: { definition: content },
    })
    const { details } = await workspace.refused(contract.templateVersions.publish, { params: { id: draft.id } })
    expect((details as { issues: { path: string[] }[] }).issues.map(({ path }) => path.join('.'))).toEqual([
      'definition.design.images.logo',
      'definition.design.images.strip.map.0',
    ])
  })

  test('an erasure deletes current and former images of the holder, except those used elsewhere', async () => {
    const workspace = await api.workspace()
    const [former, current, shared, named] = await Promise.all([1, 2, 3, 4].map(() => upload(workspace)))
    const { id: templateId } = await publishedTemplate(workspace, {
      definition: withPhoto({ thumbnail: { by: '{{stamps}}', map: { '0': named }, else: '{{photo}}' } }),
    })
    const { id } = await makePass(workspace, templateId, { variables: { photo: former! } })
    for (const image of [shared, named, current]) {
      await workspace.ok(contract.passes.update, { params: { id }, body: { variables: { photo: image! } } })
    }
    const other = await makePass(workspace, templateId, { variables: { photo: shared! } })
    const used = async () => Number((await workspace.ok(contract.workspace.get, {})).usage!.storedBytes)
    const before = await used()
    const { erased } = await erase(workspace, id)
    expect(erased.images).toBe(4)
    expect(await left([former!, current!])).toBe(0)
    expect(await left([shared!, named!])).toBe(2)
    expect(await api.database.reader('image_files').whereIn('image_id', [former!, current!])).toEqual([])
    expect(await used()).toBeLessThan(before)
    expect(await workspace.ok(contract.passes.get, { params: { id: other.id } })).toMatchObject({
      variables: { photo: shared },
    })
  })

  test.runIf(dialect === 'postgres')('an erasure waits for a create that gives its image to another pass', async () => {
    const workspace = await api.workspace()
    const image = await upload(workspace)
    const { id: templateId } = await publishedTemplate(workspace, { definition: withPhoto() })
    const first = await makePass(workspace, templateId, { variables: { photo: image } })
    const second = await makePass(workspace, templateId)
    let erasing: Promise<unknown> | undefined
    await api.services.store.transaction(async (tx) => {
      await tx.images.lockKnown(workspace.id, [image])
      await tx.images.insertUses(workspace.id, [{ passId: second.id, imageId: image }])
      erasing = erase(workspace, first.id)
      const waiting = api.database.reader('pg_stat_activity').where({ wait_event_type: 'Lock' })
      const ours = waiting.whereRaw('datname = current_database()')
      await eventually(async () => expect(await ours.clone()).toHaveLength(1))
    })
    await erasing
    expect(await left([image])).toBe(1)
    await erase(workspace, second.id)
    expect(await left([image])).toBe(0)
    const body = passBody(templateId, { variables: { photo: image } })
    expect(await workspace.refused(contract.passes.create, { body })).toMatchObject({ errorCode: 'VALIDATION_ERROR' })
  })
})
