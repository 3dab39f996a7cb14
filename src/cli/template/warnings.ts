import type { Warning } from '../../core/contract/definition.ts'

/** Warnings of a template for people: a line each, and how to accept them; undefined where there are none. */
export function warningText(warnings: readonly Warning[]): string | undefined {
  if (warnings.length === 0) return undefined
  const lines = warnings.map(({ code, path, message }) => `Warning ${code}: ${path.join('.')}: ${message}.`)
  const codes = [...new Set(warnings.map(({ code }) => `"${code}"`))].join(', ')
  return [...lines, `Where that is meant so, the definition says "accept": [${codes}].`].join('\n')
}
