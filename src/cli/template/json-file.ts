import type { z } from 'zod'
import { type Issue, issueDetails, listIssues, parseAs } from '../../core/errors.ts'
import { endOfString, findLossyNumbers } from '../../core/rules/lists/json-numbers.ts'
import { CliError, readNamed } from '../command/cli-error.ts'
import { describeFailure, locateIssues, placeOf } from '../command/failure.ts'

/** A JSON file with its original text, to find the positions of issues. */
export interface JsonFile<T> {
  path: string
  text: string
  value: T
}

/**
 * @param kind the description in errors: "a template file"
 * @throws CliError with all issues in `details.issues`, each with line and column
 */
export async function readJsonFile<T extends z.ZodType>(
  path: string,
  schema: T,
  kind: string,
): Promise<JsonFile<z.output<T>>> {
  const text = decodeText(path, await readNamed(path))
  const json = parseText(path, text)
  await requireUniqueKeys(path, text)
  const lossy = listIssues(findLossyNumbers(text))
  if (lossy.length > 0) throw await fileError({ path, text }, 'contains numbers that JSON readers can change', lossy)
  const parsed = parseAs(schema, json)
  if ('issues' in parsed) throw await fileError({ path, text }, `is not ${kind}`, parsed.issues)
  return { path, text, value: parsed.value }
}

export async function fileError(
  { path, text }: { path: string; text: string },
  what: string,
  issues: readonly Issue[],
): Promise<CliError> {
  const { issues: shown, ...omitted } = issueDetails(issues)
  return new CliError(`${path} ${what}`, {
    code: 'VALIDATION_ERROR',
    details: { file: path, issues: await locateIssues(text, shown), ...omitted },
  })
}

type Readings<T> = { [K in keyof T]: Promise<T[K]> }

/**
 * Waits for all reads, like `Promise.all`, but reports every failure.
 * @throws CliError with the problems of all files
 */
export async function readAll<T extends readonly unknown[]>(readings: readonly [...Readings<T>]): Promise<T> {
  const failures = (await Promise.allSettled(readings)).flatMap((result) =>
    result.status === 'rejected' ? [result.reason] : [],
  )
  const errors = failures.flatMap((failure) => (failure instanceof FileErrors ? failure.errors : [failure]))
  if (errors.length > 1 && errors.every((error) => error instanceof CliError)) throw new FileErrors(errors)
  return Promise.all(readings) as unknown as Promise<T>
}

class FileErrors extends CliError {
  readonly errors: readonly CliError[]

  constructor(errors: readonly CliError[]) {
    const lines = errors.flatMap((error) => [
      error.message,
      ...describeFailure(error).reasons.map((line) => `  ${line}`),
    ])
    super([`${errors.length} files cannot be used`, ...lines].join('\n'), {
      code: 'VALIDATION_ERROR',
      details: { files: errors.map(({ message, details }) => ({ message, ...details })) },
    })
    this.errors = errors
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Returns the text without a byte order mark, which editors on Windows add and `JSON.parse` rejects. */
function decodeText(path: string, bytes: Buffer): string {
  try {
    return utf8.decode(bytes)
  } catch (error) {
    throw new CliError(`${path} is not valid UTF-8`, {
      code: 'INVALID_FORMAT',
      hint: 'save the file as UTF-8.',
      details: { file: path },
      cause: error,
    })
  }
}

function parseText(path: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    // Remove the file excerpt that V8 appends to the message.
    const message = (error as Error).message.replace(/^(Unexpected token '.{1,2}'), .*$/su, '$1')
    const place = placeOf(text, Number(/at position (\d+)/.exec(message)?.[1] ?? tokenOffset(text)))
    throw new CliError(`${path}:${place.line}:${place.column} is not valid JSON: ${message}`, {
      code: 'INVALID_FORMAT',
      details: { file: path, ...place },
      cause: error,
    })
  }
}

/** @throws CliError for a key that an object has twice, because `JSON.parse` drops the first value without an error */
async function requireUniqueKeys(path: string, text: string): Promise<void> {
  const { parseDocument } = await import('yaml')
  const { errors } = parseDocument(text, { logLevel: 'silent' })
  const duplicate = errors.find(({ code }) => code === 'DUPLICATE_KEY')
  if (!duplicate) return
  const [start] = duplicate.pos
  const place = placeOf(text, start)
  const key = text.slice(start, endOfString(text, start))
  throw new CliError(`${path}:${place.line}:${place.column} repeats the key ${key} of its object`, {
    code: 'INVALID_FORMAT',
    hint: 'remove or rename one of the two.',
    details: { file: path, ...place },
  })
}

/**
 * Finds the offset of the unexpected token, because V8 does not always report the offset. The token ends the shortest
 * prefix that has this error. For an incomplete text, returns the end of the text.
 */
function tokenOffset(text: string): number {
  let [without, having] = [0, text.length + 1]
  while (having - without > 1) {
    const middle = Math.floor((without + having) / 2)
    if (hasUnexpectedToken(text.slice(0, middle))) having = middle
    else without = middle
  }
  return having - 1
}

function hasUnexpectedToken(text: string): boolean {
  try {
    JSON.parse(text)
    return false
  } catch (error) {
    return (error as Error).message.startsWith('Unexpected token')
  }
}
