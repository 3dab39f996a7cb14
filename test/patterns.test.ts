import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { openApiDocument } from '../src/core/openapi/document.ts'
import { findLossyNumbers } from '../src/core/rules/lists/json-numbers.ts'
import { fill, literalPart } from '../src/core/rules/template/placeholder.ts'
import { compileVariables, formatPatterns, variablesSchema } from '../src/core/rules/template/variables.ts'
import { parseDefinition } from './support/definitions.ts'
import { isLong } from './support/long.ts'

interface Decision {
  status: 'safe' | 'vulnerable' | 'unknown'
  complexity?: { type: string }
  error?: { kind: string }
}

/** The plain JavaScript build of the checker, which has the same result on every machine. */
const { checkSync } = createRequire(import.meta.url)('recheck/lib/browser.js') as {
  checkSync: (source: string, flags: string, options: object) => Decision
}

/** Patterns that are never matched against long text of strangers, by the reason. */
const exempt: Record<string, readonly string[]> = {
  'what the user types for himself': [
    '/(\\d+)\\s*([smhd])/gi',
    '/^(\\s*--[\\w-]+)=.* cannot also be/gm',
    '/^The following errors? occurred:\\s+/',
  ],
  'what the operator configures': ['/^postgres(ql)?:\\/\\/([^/?#@]*:[^/?#@]+@|.*[?&]password=[^&])/', '/\\/+$/'],
  'what the demo or the emulators made themselves': [
    '/^https:\\/\\/pay\\.google\\.com\\/gp\\/v\\/save\\/(.+)$/',
    '/^\\/walletobjects\\/v1\\/([a-zA-Z]+)(Class|Object)(?:\\/([^/]+))?(?:\\/(addMessage))?$/',
  ],
  'the digits of a number': ['/\\B(?=(?:\\d{3})+$)/g'],
}

function* regexLiterals(): Generator<{ source: string; flags: string; literal: string; file: string }> {
  const files = execFileSync('git', ['ls-files', 'src/*.ts', 'src/*.tsx']).toString().trim().split('\n')
  for (const file of files) {
    const root = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, false)
    const literals: string[] = []
    const visit = (node: ts.Node) => {
      if (ts.isRegularExpressionLiteral(node)) literals.push(node.text)
      ts.forEachChild(node, visit)
    }
    visit(root)
    for (const literal of literals) {
      const end = literal.lastIndexOf('/')
      yield { source: literal.slice(1, end), flags: literal.slice(end + 1), literal, file }
    }
  }
}

/** Every pattern anywhere inside a JSON Schema. */
function* publishedPatterns(schema: unknown): Generator<string> {
  if (schema === null || typeof schema !== 'object') return
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'pattern' && typeof value === 'string') yield value
    else yield* publishedPatterns(value)
  }
}

const DATE = z.regexes.date.source.slice(1, -1)

/**
 * Splits a pattern into parts that the checker can evaluate. Each lookahead is evaluated separately, because its cost depends
 * only on the text that it reads. The pattern of dates is removed, because it has no repetitions.
 */
function partsOf(source: string): string[] {
  const looks: string[] = []
  const rest = source
    .replaceAll(DATE, '[0-9][0-9-]{9}')
    .replaceAll(/\(\?[=!]((?:[^()\\]|\\.)*)\)/g, (_, look: string) => {
      looks.push(`^(?:${look})`)
      return ''
    })
  return [rest, ...looks]
}

/**
 * Replaces bounded repetitions of one class by unbounded ones, which are at least as slow. The checker would unroll bounded
 * ones, which takes long.
 */
function unbounded(source: string): string {
  return source.replaceAll(/\{(\d+)(?:,(\d*))?\}/g, (whole, least: string, most: string | undefined) => {
    if (Number(most || least) < 8) return whole
    return Number(least) > 0 ? '+' : '*'
  })
}

/** Whether a pattern has no unbounded repetition, so that the steps of a match are limited for any input. */
function isBounded(source: string): boolean {
  const plain = source.replaceAll(/\\./g, 'x').replaceAll(/\[[^\]]*\]/g, 'x')
  return !/[*+]|\{\d+,\}/.test(plain)
}

/**
 * Hashes of patterns that the checker has found safe, but takes long to evaluate. Only the long form evaluates them
 * again, and prints the lines to add. A changed pattern has another hash, and is evaluated.
 */
const proven = new Set(
  readFileSync(new URL('./patterns-proven.txt', import.meta.url), 'utf8')
    .trim()
    .split('\n'),
)

const LONG_MS = 50

function decisionOf(source: string, flags: string): string {
  for (const part of partsOf(source).filter((one) => !isBounded(one))) {
    const hash = createHash('sha256').update(`/${part}/${flags}`).digest('base64url').slice(0, 22)
    if (proven.has(hash) && !isLong) continue
    const began = performance.now()
    const { status, complexity, error } = checkSync(unbounded(part), flags, { checker: 'automaton', timeout: 20_000 })
    if (status !== 'safe') return `${status}: ${complexity?.type ?? error?.kind}`
    if (isLong && !proven.has(hash) && performance.now() - began > LONG_MS) console.log(hash)
  }
  return 'safe'
}

test('every regular expression takes time in proportion to its input', () => {
  const evaluated = new Map<string, string>()
  const skipped = new Set(Object.values(exempt).flat())
  const seen = new Set<string>()
  for (const { source, flags, literal, file } of regexLiterals()) {
    seen.add(literal)
    if (evaluated.has(literal) || skipped.has(literal)) continue
    evaluated.set(literal, decisionOf(source, flags))
    expect(`${file} ${literal} ${evaluated.get(literal)}`).toBe(`${file} ${literal} safe`)
  }
  expect([...skipped].filter((literal) => !seen.has(literal))).toEqual([])
})

const everything = parseDefinition({
  variables: ['until', 'start', 'uses', 'minutes', 'hours', 'zone'].map((name) => ({ name, label: name })),
  design: { organizationName: 'O', description: 'D' },
  expiresAt: '{{until}}',
  redemption: {
    windows: [{ start: '{{start}}', end: '{{pass.expiresAt}}', maxUses: '{{uses}}' }],
    perPeriod: { unit: 'day', count: '{{uses}}', timezone: '{{zone}}' },
    minIntervalMinutes: '{{minutes}}',
    activation: { basis: 'firstScan', validForHours: '{{hours}}' },
  },
})

test('every published pattern takes time in proportion to its input', () => {
  const schemas = [openApiDocument(), variablesSchema(everything), variablesSchema({ ...everything, redemption: {} })]
  const patterns = new Set(schemas.flatMap((schema) => [...publishedPatterns(schema)]))
  for (const { pattern } of Object.values(formatPatterns)) patterns.add(pattern)
  expect(patterns.size).toBeGreaterThan(10)
  for (const pattern of patterns) expect(`${pattern} ${decisionOf(pattern, 'u')}`).toBe(`${pattern} safe`)
})

const expiry = compileVariables({ ...everything, redemption: {} })

const checkOf = (format: 'url' | 'email' | 'date-time') => {
  const check = compileVariables({ variables: [{ name: 'v', label: 'V', required: true, format }] })
  return (v: string) => check({ v })
}

test.each<[string, (text: string) => unknown, (length: number) => string]>([
  ['an address', checkOf('url'), (n) => `http://${'a'.repeat(n)} `],
  ['a mail address', checkOf('email'), (n) => `${'a.'.repeat(n / 2)}@`],
  ['a date-time', checkOf('date-time'), (n) => `2027-05-31T19:30:00.${'0'.repeat(n)}`],
  ['an expiry', (until) => expiry({ until }), (n) => `${' '.repeat(n)}x`],
  ['a placeholder left open', (text) => fill(text, new Map()), (n) => `{{a${' '.repeat(n)}`],
  ['many of them', (text) => literalPart(text), (n) => '{{a '.repeat(n / 4)],
  ['digits', (text) => [...findLossyNumbers(text)], (n) => `[${'1.'.repeat(n / 2)}`],
])('twice the input of %s takes about twice the time', (_, work, make) => {
  const fastest = (length: number) => {
    const text = make(length)
    const times = Array.from({ length: 5 }, () => {
      const began = performance.now()
      work(text)
      return performance.now() - began
    })
    return Math.min(...times)
  }
  fastest(10_000)
  // For twice the text, a quadratic pattern takes four times as long. Allow a few milliseconds of noise for fast patterns.
  expect(fastest(100_000)).toBeLessThan(fastest(50_000) * 3 + 20)
})
