import { Command } from '@oclif/core'
import { writeOut } from '../cli/command/output.ts'
import { complete } from '../cli/completion.ts'

/** The command that the scripts of `completion` call: `complete SHELL -- WORD…`. Its error output is not shown. */
export default class Complete extends Command {
  static override hidden = true
  static override strict = false
  static override summary = 'Print completions of the last word, for the completion script.'
  static override examples = [
    '<%= config.bin %> complete bash -- pass li',
    '<%= config.bin %> complete fish -- webhook rot',
  ]

  async run() {
    this.parsed = true
    const [shell, , ...words] = this.argv
    const typed = shell === 'bash' ? words.map(withoutQuotes) : words
    try {
      const offers = await complete(this.config, typed)
      await writeOut(offers.map(shell === 'bash' ? ({ value }) => `${value}\n` : lineOf).join(''))
    } catch {
      // Offer nothing. The user sees the error when the command itself runs.
    }
  }
}

function lineOf({ value, about = '' }: { value: string; about?: string | undefined }): string {
  return `${value}\t${about.replaceAll(/[\s\p{Cc}]+/gu, ' ').slice(0, 80)}\n`
}

/** Removes the quotes of a word. bash passes a word as the user typed it. */
function withoutQuotes(word: string): string {
  const [quote] = word
  if (quote === "'" || quote === '"') return word.slice(1).replace(new RegExp(`${quote}$`), '')
  return word.replaceAll(/\\(.)/gs, '$1')
}
