/** A wrong change of one file that a developer could make by mistake, and the tests that must detect it. */
export interface Fault {
  /** The name for `--only`, in kebab-case. */
  name: string
  /** The effect of the fault on users. */
  breaks: string
  /** The path of the changed file, relative to the top of the project. */
  file: string
  /** The text to replace. It must occur exactly once in the file. */
  text: string
  replacement: string
  /** Test files that must each fail in a test, not while they load. Prefer fast ones; do not use test/e2e. */
  tests: [string, ...string[]]
}

/**
 * Returns the source of a file with a planted fault.
 * @throws Error if the text does not occur exactly once
 */
export function plant(source: string, { name, file, text, replacement }: Fault): string {
  const count = source.split(text).length - 1
  if (count === 1) return source.split(text).join(replacement)
  throw new Error(
    `The text of the fault ${name} occurs ${count} times in ${file}. Update the fault so that it occurs once.`,
  )
}
