/** One wrong change of one file, as a careless hand might make it, and the tests that must notice. */
export interface Fault {
  /** In kebab-case, for `--only`. */
  name: string
  /** What then goes wrong, for whoever uses the service. */
  breaks: string
  /** Below the top of the project. */
  file: string
  /** Stands in the file exactly once. */
  text: string
  replacement: string
  /** Test files of which each must fail, by a test and not by an error while it loads. Cheap ones: nothing of test/e2e. */
  tests: [string, ...string[]]
}

/** The source of a file with a fault in it. @throws Error where the text does not stand there exactly once. */
export function plant(source: string, { name, file, text, replacement }: Fault): string {
  const count = source.split(text).length - 1
  if (count === 1) return source.split(text).join(replacement)
  throw new Error(`The text of the fault ${name} stands ${count} times in ${file}, not once: write the fault anew.`)
}
