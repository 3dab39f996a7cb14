import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stringsFor, writeStrings } from '../../../src/cli/template/strings-file.ts'
import { readTemplateFile } from '../../../src/cli/template/template-file.ts'
import { temporaryFolder } from '../../support/databases.ts'

const icon = new URL('../../../examples/conference/images/icon.png', import.meta.url).pathname

const template = `{
  "name": "Ticket",
  "passType": "eventTicket",
  "definition": {
    "languages": { "default": "pt", "others": ["de", "ar"] },
    "variables": [{ "name": "gate", "label": "Gate", "example": "4" }],
    "design": {
      "organizationName": "Porto",   "description": { "pt": "Bilhete" },
      "images": { "icon": "icon.png" },
      "fields": {
        "primary": [{ "key": "gate", "label": { "pt": "Porta", "de": "Tür" }, "value": "{{gate}}",
            "changeMessage": {
              "ar": "%@",
              "pt": "Agora \\"%@\\""
            } }],
        "back": [{ "key": "no", "label": "", "value": "Porta {{gate}}" }]
      }
    }
  }
}
`

/** Creates a template file and its strings file, which tests change. */
async function files() {
  const folder = temporaryFolder()
  copyFileSync(icon, join(folder, 'icon.png'))
  const [path, strings] = [join(folder, 'ticket.json'), join(folder, 'de.json')]
  writeFileSync(path, template)
  const made = stringsFor(await readTemplateFile(path), 'de')
  const take = async (changed: object) => {
    writeFileSync(strings, JSON.stringify({ ...made, ...changed }))
    return writeStrings(await readTemplateFile(path), strings)
  }
  return { path, folder, made, take }
}

const targets = ['Tor', 'Jetzt "%@"', 'Tor {{gate}}', 'Hafen', 'Karte']

test('exports each text that contains words, and an import changes only translations', async () => {
  const { path, folder, made, take } = await files()
  expect(made).toEqual({
    sourceLanguage: 'pt',
    targetLanguage: 'de',
    entries: [
      { key: 'design.fields.primary.0.label', source: 'Porta', target: 'Tür' },
      { key: 'design.fields.primary.0.changeMessage', source: 'Agora "%@"', target: '' },
      { key: 'design.fields.back.0.value', source: 'Porta {{gate}}', target: '' },
      { key: 'design.organizationName', source: 'Porto', target: '' },
      { key: 'design.description', source: 'Bilhete', target: '' },
    ],
  })
  expect(await take({})).toEqual({ language: 'de', changed: 0, missing: 4 })
  expect(readFileSync(path, 'utf8')).toBe(template)
  const entries = made.entries.map((entry, n) => ({ ...entry, target: targets[n]! }))
  expect(await take({ entries })).toEqual({ language: 'de', changed: 5, missing: 0 })
  const expected = template
    .replace('"Porto"', '{ "pt": "Porto", "de": "Hafen" }')
    .replace('{ "pt": "Bilhete" }', '{ "pt": "Bilhete", "de": "Karte" }')
    .replace('"Tür"', '"Tor"')
    .replace('%@\\""', '%@\\"",\n              "de": "Jetzt \\"%@\\""')
    .replace('"Porta {{gate}}"', '{ "pt": "Porta {{gate}}", "de": "Tor {{gate}}" }')
  expect(readFileSync(path, 'utf8')).toBe(expected)
  expect(stringsFor(await readTemplateFile(path), 'de').entries).toEqual(entries)
  expect(readdirSync(folder).sort()).toEqual(['de.json', 'icon.png', 'ticket.json'])
})

test('rejects texts that do not fit with their place, and writes nothing', async () => {
  const { path, made, take } = await files()
  const [label, message, , name, description] = made.entries
  const good = { ...name!, target: 'Hafen' }
  const cases: [object, (string | number)[], RegExp][] = [
    [{ ...description!, key: 'design.logoText' }, ['entries', 1, 'key'], /Text design.logoText not found/],
    [{ ...description!, key: '__proto__.x' }, ['entries', 1, 'key'], /Text __proto__.x not found/],
    [good, ['entries', 1, 'key'], /Duplicate text/],
    [{ ...label!, source: 'Portão' }, ['entries', 1, 'source'], /is now "Porta"/],
    [{ ...message!, target: 'Jetzt' }, ['entries', 1, 'target'], /%@/],
    [{ ...label!, target: 'Tor {{tor}}' }, ['entries', 1, 'target'], /tor/],
  ]
  for (const [entry, place, said] of cases) {
    const details = { issues: [expect.objectContaining({ path: place, message: expect.stringMatching(said) })] }
    await expect(take({ entries: [good, entry] })).rejects.toMatchObject({ code: 'VALIDATION_ERROR', details })
  }
  await expect(take({ sourceLanguage: 'en' })).rejects.toThrow(/does not match/)
  await expect(take({ targetLanguage: 'fr' })).rejects.toThrow(/has no language fr/)
  await expect(take({ targetLanguage: 'pt' })).rejects.toThrow(/nothing to translate/)
  await expect(take({ extra: 1 })).rejects.toThrow(/not a file of strings/)
  expect(readFileSync(path, 'utf8')).toBe(template)
  writeFileSync(path, template.replace(/"languages".*/, ''))
  await expect(take({})).rejects.toThrow(/defines no languages|does not match the schema/)
})
