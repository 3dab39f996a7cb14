import { Flags } from '@oclif/core'

/**
 * Escapes cells that a spreadsheet would run as formulas, with a leading apostrophe, which it shows as text. Cells
 * that already have apostrophes before a formula sign get another one, so that reading restores the exact text.
 */

export const rawCellsFlag = Flags.boolean({
  summary: "Do not escape cells; by default, ' precedes cells that a spreadsheet would read as a formula.",
  default: false,
})

const FORMULA = /^[=+\-@\t\r]/

/** Numbers such as +351 21 000, -12.5, and +1 (555) 123-4567, which are not formulas. */
const NUMBER = /^[+-]\(?[.,]?\d[\d .,()\-/\u00A0\u202F]*(?:e[+-]?\d+)?%?$/i

export function escapeCell(text: string): string {
  return isFormula(text) ? `'${text}` : text
}

/** Returns the cell that was passed to `escapeCell`. */
export function unescapeCell(text: string): string {
  return text.startsWith("'") && isFormula(text.slice(1)) ? text.slice(1) : text
}

function isFormula(text: string): boolean {
  const bare = text.replace(/^'+/, '')
  return FORMULA.test(bare) && !NUMBER.test(bare)
}
