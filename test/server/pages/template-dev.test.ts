import { expect, onTestFinished, test } from 'vitest'
import type { DevHolder } from '../../../src/server/pages/template-dev/content.ts'
import { startTemplateDev } from '../../../src/server/pages/template-dev/dev-server.ts'
import { parseDefinition } from '../../support/definitions.ts'

interface View {
  languages: string[]
  language: string | null
  phones: { light: string }
}

async function started(languages: object, holders: DevHolder[] = [], project?: string) {
  const definition = parseDefinition({
    ...languages,
    variables: [{ name: 'constructor', label: 'C' }],
    design: {
      organizationName: { ja: '港', ar: 'ميناء' },
      description: 'D',
      fields: {
        primary: [{ key: 'day', label: { ja: '日', ar: 'يوم' }, value: '2027-05-31', as: 'date' }],
        back: [
          { key: 'built', label: 'Built', value: 'by {{constructor}}.' },
          { key: 'home', label: 'Home', value: 'at {{project.name}}.' },
        ],
      },
    },
  })
  const content = { file: 'f.json', name: 'F', project, passType: 'storeCard' as const, definition, images: new Map() }
  const dev = await startTemplateDev({
    file: 'f.json',
    port: 0,
    read: async () => ({ content: { ...content, holders, problems: [] } }),
    files: () => [],
    locate: async (notes) => [...notes],
  })
  onTestFinished(() => dev.close())
  return async (query: string) => (await (await fetch(`${dev.url}view?${query}`)).json()) as View
}

test('the page offers the languages of the file, and both phones show the chosen one', async () => {
  const view = await started({ languages: { default: 'ja', others: ['ar'] } })
  const first = await view('holder=0')
  expect([first.languages, first.language]).toEqual([['ja', 'ar'], 'ja'])
  expect(first.phones.light.split('dir="ltr" lang="ja"')).toHaveLength(3)
  const arabic = await view('holder=0&language=ar')
  expect(arabic.language).toBe('ar')
  expect(arabic.phones.light.split('dir="rtl" lang="ar"')).toHaveLength(3)
  expect(arabic.phones.light.split('يوم').length).toBeGreaterThan(2)
  expect(arabic.phones.light).not.toContain('港')
  expect((await view('language=de')).language).toBe('ja')
})

test('a file without languages offers no choice of language', async () => {
  const view = await started({})
  expect(await view('language=ar')).toMatchObject({ languages: [], language: null })
})

test('shows the name of the project that the file sets, or no name if it sets none', async () => {
  expect((await (await started({}, [], 'Harbour fair'))('')).phones.light).toContain('at Harbour fair.')
  expect((await (await started({}))('')).phones.light).toContain('at .')
})

test('a missing value stays empty, even if its name is a property of every object', async () => {
  const view = await started({ languages: { default: 'ja', others: ['ar'] } }, [
    { externalPassId: 'A', label: 'Ada', variables: {} },
    { externalPassId: 'B', label: 'Bo', variables: { constructor: 'Brunel' } },
  ])
  expect((await view('holder=1')).phones.light).toContain('by .')
  expect((await view('holder=2')).phones.light).toContain('by Brunel.')
})
