import { describe, expect, test } from 'vitest'
import { Definition } from '../../../../src/core/contract/schemas/definition.ts'
import {
  checkJoinPage,
  cleanValue,
  foldAddress,
  formFields,
  type JoinForm,
  joinState,
  labelOf,
  readForm,
  sourceOf,
} from '../../../../src/core/rules/join/join-form.ts'
import { inLanguage } from '../../../../src/core/rules/template/definition-languages.ts'
import { definition } from '../../../server/fixtures.ts'

const written = Definition.parse(
  definition({
    languages: { default: 'en', others: ['ar'] },
    variables: [
      { name: 'first', label: 'First name', required: true, maxLength: 20 },
      { name: 'last', label: 'Last name' },
      { name: 'email', label: 'Email', format: 'email' },
      { name: 'born', label: 'Birthday', format: 'date' },
      { name: 'tier', label: 'Tier', default: 'Green' },
      { name: 'face', label: 'Face', format: 'image' },
    ],
  }),
)
const content = inLanguage(written)

const page: JoinForm = {
  title: 'Coffee card',
  intro: '',
  fields: [{ variable: 'first' }, { variable: 'last' }, { variable: 'email' }, { variable: 'born' }],
  labelFrom: ['{{first}} {{last}}', '{{first}}'],
  consent: { text: 'I agree.', version: '1', required: true },
  identity: 'email',
}

describe('the fields of a form', () => {
  const fields = formFields(content, page)
  const read = (values: Record<string, string>) =>
    readForm(fields, new Map(Object.entries({ first: 'Ada', email: 'ada@example.com', ...values })))

  test('follow the variables schema, and the identity is required', () => {
    expect(fields.map(({ name, kind, isRequired, maxLength }) => [name, kind, isRequired, maxLength])).toEqual([
      ['first', 'text', true, 20],
      ['last', 'text', false, 500],
      ['email', 'email', true, 254],
      ['born', 'date', false, 500],
    ])
  })

  test('set variables, except for empty ones', () => {
    expect(read({ last: '' })).toEqual({ variables: { first: 'Ada', email: 'ada@example.com' } })
  })

  test.each([
    ['first', '', 'required'],
    ['first', 'a'.repeat(21), 'tooLong'],
    ['last', 'a'.repeat(100_000), 'tooLong'],
    ['email', 'ada@', 'email'],
    ['born', '2001-02-30', 'date'],
  ])('reject %s %j as %s', (name, value, error) => {
    expect(read({ [name]: value })).toEqual({ errors: new Map([[name, error]]) })
  })

  test('count code points, as the schema does', () => {
    expect(read({ first: '😀'.repeat(20) })).toHaveProperty('variables')
  })
})

test('a typed value is one line without controls and without marks that turn other text around', () => {
  expect(cleanValue(' A\u202Eda\u0000\r\n  <b>Lovelace\u2066 ')).toBe('Ada <b>Lovelace')
  expect(cleanValue('می\u200cخواهم')).toBe('می\u200cخواهم')
})

test('a value of only invisible characters is empty', () => {
  for (const typed of ['\u200b', '\u200f \u061c', '\u3164', '\u00ad']) expect(cleanValue(typed)).toBe('')
})

test('a source has at most 64 units and never half a character', () => {
  expect(sourceOf(null)).toBe(null)
  expect(sourceOf(' \u202E ')).toBe(null)
  expect(sourceOf(' window ')).toBe('window')
  expect(sourceOf(`${'a'.repeat(63)}😀`)).toBe('a'.repeat(63))
})

test('the label is the first text whose fields are all filled in, at most 255 characters', () => {
  const texts = ['{{first}} {{last}}', '{{first}}']
  expect(labelOf(texts, { first: 'Ada', last: 'Lovelace' })).toBe('Ada Lovelace')
  expect(labelOf(texts, { first: 'Ada' })).toBe('Ada')
  expect(labelOf(texts, { last: 'Lovelace' })).toBe(undefined)
  expect(labelOf(texts, { first: 'a'.repeat(300) })).toBe('a'.repeat(255))
})

test('addresses that differ in case are the same identity', () => {
  expect(foldAddress('Ada@Example.COM')).toBe(foldAddress('ada@example.com '))
})

test('a page is closed when it is not open, from closesAt, and full at its limit', () => {
  const at = new Date('2027-01-01T00:00:00Z')
  const open = { open: true, closesAt: null, limit: null, joined: 5 }
  expect(joinState(open, at)).toBe('open')
  expect(joinState({ ...open, open: false }, at)).toBe('closed')
  expect(joinState({ ...open, closesAt: at }, at)).toBe('closed')
  expect(joinState({ ...open, closesAt: new Date(at.getTime() + 1) }, at)).toBe('open')
  expect(joinState({ ...open, limit: 5 }, at)).toBe('full')
  expect(joinState({ ...open, limit: 6 }, at)).toBe('open')
})

describe('a join page', () => {
  const issues = (parts: object) =>
    checkJoinPage({ ...page, ...parts } as JoinForm, written, content).map((issue) => issue.path.join('.'))

  test('that fits the published version has no issue', () => {
    expect(issues({ title: { en: 'Card', ar: 'بطاقة' } })).toEqual([])
  })

  test.each<[object, string[]]>([
    [
      { fields: [{ variable: 'first' }, { variable: 'nope' }], identity: undefined, labelFrom: ['{{first}}'] },
      ['fields.1.variable'],
    ],
    [{ fields: [...page.fields, { variable: 'face' }] }, ['fields.4.variable']],
    [{ fields: [...page.fields, { variable: 'last' }] }, ['fields.4.variable']],
    [{ fields: [{ variable: 'email' }], labelFrom: ['{{email}}'] }, ['fields']],
    [{ identity: 'tier' }, ['identity']],
    [{ identity: 'last' }, ['identity']],
    [{ labelFrom: ['{{first}} {{pass.id}}'] }, ['labelFrom.0']],
    [{ title: { en: 'Card', de: 'Karte' } }, ['title.de']],
    [{ intro: { ar: 'بطاقة' } }, ['intro']],
  ])('%j is rejected at %j', (parts, paths) => {
    expect(issues(parts)).toEqual(paths)
  })
})
