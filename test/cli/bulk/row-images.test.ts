import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type BulkOptions, runFile } from '../../../src/cli/bulk/bulk-file.ts'
import { updateAction } from '../../../src/cli/changes/update-action.ts'
import { issueAction, planAction } from '../../../src/cli/issue/issue-action.ts'
import { contentId } from '../../../src/core/ids.ts'
import { png } from '../../server/api/templates/pictures.ts'
import { definition, publishedTemplate } from '../../server/fixtures.ts'
import { useApi } from '../../support/api.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { serveApp } from '../../support/served-app.ts'

// The command uses HTTP only. Tests of the API check the responses on each database.
describe('over HTTP', () => {
  const api = useApi('sqlite')

  async function setUp() {
    const workspace = await api.workspace()
    const { client, url } = await serveApp(api, workspace.token)
    const variables = [{ name: 'photo', label: 'Photo', format: 'image' as const }]
    const content = definition({ variables, design: { organizationName: 'O', description: 'D' } })
    const { id: templateId } = await publishedTemplate(workspace, { definition: content })
    const folder = temporaryFolder()
    const file = join(folder, 'list.csv')
    mkdirSync(join(folder, 'photos'))
    const pictures = await Promise.all(['#111111', '#222222'].map((color) => png({ color })))
    pictures.forEach((bytes, index) => {
      writeFileSync(join(folder, 'photos', `${index}.png`), bytes)
    })
    const ids = pictures.map((bytes) => contentId(workspace.id, bytes))
    const write = (rows: string[][]) =>
      writeFileSync(
        file,
        [['externalPassId', 'label', 'photo'], ...rows].map((cells) => `${cells.join(',')}\n`).join(''),
      )
    const options: BulkOptions = {
      file,
      server: url,
      out: undefined,
      failures: undefined,
      dryRun: false,
      restart: true,
      force: false,
      rawCells: false,
      stop: new AbortController().signal,
      client,
      sender: () => client,
      note: () => undefined,
    }
    const action = { file, templateId, externalIdColumn: 'externalPassId', labelColumn: 'label', concurrency: 2 }
    const photos = async () => {
      const { items } = await client.passes.list({ query: { sortBy: 'externalPassId', sortDir: 'asc' } })
      return items.map(({ variables }) => variables.photo)
    }
    const uploads = async () =>
      Number(
        (
          await api.database
            .reader('audit_entries')
            .where({ action: 'image.create', workspace_id: workspace.id })
            .count({ n: '*' })
            .first()
        )?.n,
      )
    return { folder, ids, write, options, action, photos, uploads }
  }

  test('an image column names files next to the list, each uploaded once; a plan uploads none', async () => {
    const { ids, write, options, action, photos, uploads } = await setUp()
    write([
      ['A', 'Ada', 'photos/0.png'],
      ['B', 'Bob', './photos/../photos/0.png'],
      ['C', 'Cy', ''],
      ['D', 'Di', 'photos/1.png'],
    ])
    const planned = await runFile(planAction({ ...action, existing: undefined }), { ...options, dryRun: true })
    expect(planned.summary.counts).toMatchObject({ created: 4, failed: 0 })
    expect(await uploads()).toBe(0)
    const issue = () => runFile(issueAction({ ...action, existing: undefined }), options)
    expect((await issue()).summary.counts).toMatchObject({ created: 4, failed: 0 })
    expect(await photos()).toEqual([ids[0], ids[0], undefined, ids[1]])
    expect(await uploads()).toBe(2)
    // The same files get the IDs of the existing images.
    expect((await issue()).summary.counts).toMatchObject({ present: 4 })

    write([
      ['C', 'Cy', 'photos/1.png'],
      ['D', 'Di', ids[0]!],
    ])
    const update = {
      externalIdColumn: 'externalPassId',
      labelColumn: undefined,
      unsetMarker: '-',
      templateVersion: undefined,
    }
    const { summary } = await runFile(updateAction({ ...action, ...update, dryRun: false }), options)
    expect(summary.counts).toMatchObject({ updated: 2, failed: 0 })
    expect(await photos()).toEqual([ids[0], ids[0], ids[1], ids[0]])
  })

  test('fails a row whose image is outside the folder, missing, too large, or not a picture; others continue', async () => {
    const { folder, write, options, action, photos } = await setUp()
    const outside = temporaryFolder()
    writeFileSync(join(outside, 'secret.png'), await png())
    symlinkSync(join(outside, 'secret.png'), join(folder, 'link.png'))
    writeFileSync(join(folder, 'text.png'), 'no picture')
    writeFileSync(join(folder, 'large.png'), '')
    truncateSync(join(folder, 'large.png'), 6 * 1024 * 1024)
    write([
      ['A', 'Ada', join(folder, 'photos/0.png')],
      ['B', 'Bob', '../secret.png'],
      ['C', 'Cy', 'link.png'],
      ['D', 'Di', 'none.png'],
      ['E', 'Ed', 'text.png'],
      ['F', 'Flo', 'large.png'],
      ['G', 'Guy', 'photos'],
      ['H', 'Hal', 'photos/0.png'],
    ])
    const { summary } = await runFile(issueAction({ ...action, existing: undefined }), options)
    expect(summary.errors.map(({ externalPassId, error }) => `${externalPassId} ${error}`)).toEqual([
      expect.stringMatching(/^A photo: .* is outside the folder/),
      expect.stringMatching(/^B photo: .*(outside the folder|is neither a file)/),
      expect.stringMatching(/^C photo: link.png is outside the folder/),
      expect.stringMatching(/^D photo: none.png is neither a file/),
      expect.stringMatching(/^E photo: text.png is /),
      expect.stringMatching(/^F photo: large.png has 6291456 bytes/),
      expect.stringMatching(/^G photo: photos is not a file/),
    ])
    expect(await photos()).toHaveLength(1)
  })
})
