import { expect, test } from 'vitest'

interface Hit {
  area: string
  line: number
  phrase: string
}

// A plain script has no types.
const { checkFile } = (await import(new URL('../scripts/voice.js', import.meta.url).href)) as {
  checkFile: (file: string, source: string) => { hits: Hit[]; reviews: number }
}

const found = (file: string, source: string) =>
  checkFile(file, source).hits.map(({ area, line, phrase }) => `${area}:${line}: ${phrase}`)

test.each<[string, string, string, string[]]>([
  ['a docstring that starts with a question word', 'src/a.ts', '/** What a pass has. */', ['src:1: What']],
  ['a phrase across two lines of a docstring', 'src/a.ts', '/**\n * It goes\n * on.\n */', ['src:2: goes on']],
  ['a phrase across two line comments', 'src/a.ts', 'f()\n// It goes\n// on.\ng()', ['src:2: goes on']],
  ['an inline comment that starts with "Of"', 'src/a.ts', 'f() // Of a pass.', ['src:1: Of']],
  ['a string', 'src/a.ts', "f('Nobody knows.')", ['src:1: Nobody']],
  ['the text of a template around its expressions', 'src/a.ts', '`A $'.concat('{f(`b`)} goes on`'), ['src:1: goes on']],
  [
    'text and attributes of an element',
    'src/a.tsx',
    '<p title="Once more">\nCome anew</p>',
    ['src:1: Once more', 'src:2: anew'],
  ],
  ['a value of a translation', 'src/locales/en/a.json', '{ "alike anew": "Both alike" }', ['src:1: alike']],
  ['a comment of a style', 'src/a.css', 'a {}\n/* It stands. */', ['src:2: stands']],
  ['a comment of a browser script', 'src/a.js', 'f()\n// It goes on.', ['src:2: goes on']],
  ['the name of a test', 'test/a.test.ts', "test('nobody waits', () => {})", ['test names:1: nobody']],
  ['a name below test.each', 'test/a.test.ts', "test.each(['b'])(\n'%s alike', f)", ['test names:2: alike']],
  ['a long test name', 'test/a.test.ts', `test('${'a'.repeat(101)}', f)`, ['long test names:1: 101 characters']],
  ['Markdown', 'docs/a.md', '# A\n\n- It stands\n- Whoever asks', ['docs:3: stands', 'docs:4: Whoever']],
])('reports %s', (_, file, source, hits) => {
  expect(found(file, source)).toEqual(hits)
})

test.each<[string, string, string]>([
  ['a condition at the start of an inline comment', 'src/a.ts', '// When it ends, it is removed.'],
  ['an allowed phrase', 'docs/a.md', 'Two passes so far, none of which stands out.'],
  ['an identifier or a key', 'src/a.ts', "const alike = { anew: 'beside' }"],
  ['the name of a module', 'src/a.ts', "import a from './beside it.ts'"],
  ['a comment mark in a string or a pattern', 'src/a.ts', "f('//Of', /\\/\\* Of/, `/** Of`)"],
  ['a quotation of code', 'docs/a.md', 'The word `alike`.\n\n```text\nOnce more, nobody\n```'],
  ['another language', 'src/locales/fr/a.json', '{ "a": "il stand beside" }'],
  ['a string of a test', 'test/a.test.ts', "f('nobody waits')"],
  ['a test name of 100 characters', 'test/a.test.ts', `test('${'a'.repeat(100)}', f)`],
])('accepts %s', (_, file, source) => {
  expect(found(file, source)).toEqual([])
})

test('counts phrases to review', () => {
  expect(checkFile('src/a.ts', '/** The answer, at the moment. */')).toEqual({ hits: [], reviews: 2 })
})
