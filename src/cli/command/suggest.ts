/** The command that was likely meant by mistyped words, which arguments may follow; undefined where none is near. */
export function suggestCommand(words: readonly string[], commands: readonly string[]): string | undefined {
  const candidates = commands
    .map((command) => {
      const typed = words.slice(0, command.split(' ').length).join(' ')
      return { command, distance: editDistance(typed, command), most: Math.max(2, command.length / 3) }
    })
    .filter(({ distance, most }) => distance <= most)
  return candidates.sort((a, b) => a.distance - b.distance)[0]?.command
}

/** Letters to insert, delete or replace until one text is the other (Levenshtein). */
export function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (const [i, letter] of [...one].entries()) {
    const next = [i + 1]
    for (const [j, otherLetter] of [...other].entries()) {
      next.push(Math.min(row[j + 1]! + 1, next[j]! + 1, row[j]! + (letter === otherLetter ? 0 : 1)))
    }
    row = next
  }
  return row.at(-1)!
}
