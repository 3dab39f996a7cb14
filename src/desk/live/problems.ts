import type { DeskWords } from '../../locales/desk-texts.ts'
import { ApiRejection } from './desk-api.ts'

/** Returns the problem and its remedy. `detail` is the message of the server, if only the server knows the cause. */
export function problemOf(error: unknown, { problems, sessionEnded }: DeskWords): { text: string; detail: string } {
  if (!(error instanceof ApiRejection)) return { text: problems.noResponse, detail: '' }
  const { code, status, message, details } = error
  if (Object.hasOwn(problems, code)) return { text: problems[code as keyof typeof problems], detail: '' }
  // Only the bounds of a balance have details about the change.
  if (code === 'CONFLICT' && 'delta' in details) return { text: problems.balanceBounds, detail: '' }
  if (status === 401) return { text: sessionEnded, detail: '' }
  if (status === 404) return { text: problems.notFound, detail: '' }
  if (status === 403) return { text: problems.notAllowed, detail: '' }
  if (status === 429 || status >= 500) return { text: problems.busy, detail: '' }
  return { text: status === 409 || status === 412 ? problems.notNow : problems.notValid, detail: message }
}
