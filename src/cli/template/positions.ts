import type { Issue } from '../../core/errors.ts'

/** A problem with the place in the file that it is about, where there is one; line and column begin at 1. */
export interface LocatedIssue extends Issue {
  line?: number
  column?: number
}

/** Finds the place of each problem in a JSON text; that of something that is missing is what should hold it. */
export async function locateIssues<T extends Issue>(text: string, issues: readonly T[]): Promise<(T & LocatedIssue)[]> {
  const { isNode, LineCounter, parseDocument } = await import('yaml')
  const lineCounter = new LineCounter()
  // JSON is YAML, whose parser keeps the places.
  const document = parseDocument(text, { lineCounter, uniqueKeys: false, logLevel: 'silent' })
  return issues.map((issue) => {
    for (let length = issue.path.length; length >= 0; length -= 1) {
      const node = length === 0 ? document.contents : document.getIn(issue.path.slice(0, length), true)
      if (!isNode(node) || !node.range) continue
      const { line, col: column } = lineCounter.linePos(node.range[0])
      return { ...issue, line, column }
    }
    return issue
  })
}

/** Line and column of a place in a text. */
export function placeOf(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split('\n')
  return { line: before.length, column: before.at(-1)!.length + 1 }
}
