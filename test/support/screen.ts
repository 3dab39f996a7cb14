/**
 * A terminal screen, with enough features to show the output of Ink, for characters of one column. A line that is too
 * long is wrapped, so that a test notices it.
 */
export class TextScreen {
  columns: number
  rows: number
  bells = 0
  /** Everything that was ever written, with its escape sequences. */
  raw = ''
  #cells: string[][]
  #row = 0
  #column = 0
  #rest = ''

  constructor(columns: number, rows: number) {
    this.columns = columns
    this.rows = rows
    this.#cells = emptyCells(columns, rows)
  }

  /** Truncates the alternate screen, as terminals do. */
  resize(columns: number, rows: number): void {
    this.columns = columns
    this.rows = rows
    this.#cells = Array.from({ length: rows }, (_, row) =>
      Array.from({ length: columns }, (_, column) => this.#cells[row]?.[column] ?? ' '),
    )
    this.#row = Math.min(this.#row, rows - 1)
    this.#column = Math.min(this.#column, columns - 1)
  }

  write(text: string): void {
    this.raw += text
    let rest = this.#rest + text
    this.#rest = ''
    while (rest !== '') {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: this is what escape sequences begin with
      const sequence = /^\u001B\[([?>]?)([\d;]*)([@-~])/.exec(rest)
      if (sequence) {
        if (sequence[1] === '') this.#control(sequence[3]!, sequence[2]!.split(';').map(Number))
        else if (sequence[2] === '1049') this.#cells = emptyCells(this.columns, this.rows)
        rest = rest.slice(sequence[0].length)
      } else if (rest[0] === '\u001B' && (rest[1] === '7' || rest[1] === '8')) {
        // Ignore the position of a progress bar.
        rest = rest.slice(2)
      } else if (rest[0] === '\u001B') {
        this.#rest = rest
        return
      } else {
        const [character] = rest
        this.#print(character!)
        rest = rest.slice(character!.length)
      }
    }
  }

  lines(): string[] {
    return this.#cells.map((cells) => cells.join('').trimEnd())
  }

  text(): string {
    return this.lines().join('\n')
  }

  #control(final: string, [first = 0, second = 0]: number[]): void {
    const count = first || 1
    if (final === 'A') this.#row = Math.max(0, this.#row - count)
    else if (final === 'B') this.#row = Math.min(this.rows - 1, this.#row + count)
    else if (final === 'G') this.#column = count - 1
    else if (final === 'H') {
      this.#row = count - 1
      this.#column = (second || 1) - 1
    } else if (final === 'K') {
      const from = first === 0 ? this.#column : 0
      this.#cells[this.#row] = this.#cells[this.#row]!.map((cell, column) => (column >= from ? ' ' : cell))
    } else if (final === 'J' && first >= 2) this.#cells = emptyCells(this.columns, this.rows)
  }

  #print(character: string): void {
    if (character === '\u0007') this.bells += 1
    else if (character === '\r') this.#column = 0
    else if (character === '\n') this.#lineFeed()
    else {
      if (this.#column >= this.columns) {
        this.#column = 0
        this.#lineFeed()
      }
      this.#cells[this.#row]![this.#column] = character
      this.#column += 1
    }
  }

  #lineFeed(): void {
    if (this.#row < this.rows - 1) this.#row += 1
    else this.#cells = [...this.#cells.slice(1), ...emptyCells(this.columns, 1)]
  }
}

function emptyCells(columns: number, rows: number): string[][] {
  return Array.from({ length: rows }, () => Array.from({ length: columns }, () => ' '))
}
