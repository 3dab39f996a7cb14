import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { deskTexts } from '../../src/locales/desk-texts.ts'
import { doorTexts } from '../../src/locales/door-texts.ts'
import { spokenLanguages } from '../../src/locales/languages.ts'
import { pagesTexts } from '../../src/locales/page-texts.ts'
import { scansTexts } from '../../src/locales/scan-texts.ts'

const folder = join(import.meta.dirname, '../../src/locales')
const areas = ['desk.json', 'door.json', 'pages.json', 'scans.json']

/** The path of each text with its placeholders, sorted. */
function shapeOf(texts: object, path = ''): string[] {
  return Object.entries(texts).flatMap(([key, text]): string[] => {
    if (typeof text === 'object') return shapeOf(text, `${path}${key}.`)
    const names = new Set(text.match(/\{\w+\}/g) ?? [])
    return [`${path}${key} ${[...names].toSorted().join(' ')}`]
  })
}

function read(tag: string, area: string): Record<string, unknown> {
  return JSON.parse(readFileSync(join(folder, tag, area), 'utf8'))
}

test('each listed language has a folder with a file for each area, and no other folder exists', () => {
  const folders = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  expect(folders.map(({ name }) => name).toSorted()).toEqual([...spokenLanguages].toSorted())
  for (const { name } of folders) expect(readdirSync(join(folder, name)).toSorted(), name).toEqual(areas)
})

test.each(spokenLanguages)('%s has the keys and placeholders of the English texts', (tag) => {
  for (const area of areas) expect(shapeOf(read(tag, area)), area).toEqual(shapeOf(read('en', area)))
})

test.each(spokenLanguages)('%s is loaded from its folder', async (tag) => {
  const loaded = [await deskTexts[tag](), doorTexts[tag], pagesTexts[tag], scansTexts[tag]]
  for (const [n, area] of areas.entries()) expect(loaded[n], area).toEqual(read(tag, area))
})
