import { Flags } from '@oclif/core'

/**
 * Cells that a spreadsheet would take for a formula, and might run, are written with an apostrophe before them, which it
 * shows as text. The same is done to cells that begin with apostrophes before such a sign, so that what is read back is
 * exactly what was written.
 */

export const rawCellsFlag = Flags.boolean({
  summary: "Leave cells of CSV as they are; else those that a spreadsheet would take for a formula begin with '.",
  default: false,
})

const FORMULA = /^[=+\-@\t\r]/

/** +351 21 000, -12.5, +1 (555) 123-4567: digits and what stands between them run nothing. */
const NUMBER = /^[+-]\(?[.,]?\d[\d .,()\-/\u00A0\u202F]*(?:e[+-]?\d+)?%?$/i

/** A cell as it is written for a spreadsheet. */
export function escapeCell(text: string): string {
  return isFormula(text) ? `'${text}` : text
}

/** The cell that was given to `escapeCell`. */
export function unescapeCell(text: string): string {
  return text.startsWith("'") && isFormula(text.slice(1)) ? text.slice(1) : text
}

function isFormula(text: string): boolean {
  const bare = text.replace(/^'+/, '')
  return FORMULA.test(bare) && !NUMBER.test(bare)
}
