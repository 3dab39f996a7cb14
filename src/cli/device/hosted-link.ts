import { CliError } from '../command/errors.ts'
import { type Answer, call } from './http.ts'

const userAgents = {
  apple:
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1',
  google:
    'Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/136.0.0.0 Mobile Safari/537.36',
}

const SAVE_PREFIX = 'https://pay.google.com/gp/v/save/'
const PKPASS = 'application/vnd.apple.pkpass'
const MAX_REDIRECTS = 5

/** Opens a hosted link as Safari on an iPhone does; resolves to the file of the pass. */
export async function downloadPass(link: string): Promise<Buffer> {
  const { answer } = await open(link, 'apple')
  if (answer?.header('content-type')?.startsWith(PKPASS)) return answer.bytes
  throw new CliError('The link opened a page and not a pass', { hint: 'take the apple or the smart link of the pass.' })
}

/** Opens a hosted link as Chrome on an Android phone does; resolves to the JWT, and never calls Google. */
export async function findSaveJwt(link: string): Promise<string> {
  const { location } = await open(link, 'google')
  if (location?.startsWith(SAVE_PREFIX)) return location.slice(SAVE_PREFIX.length)
  throw new CliError('The link led to no save link of Google', {
    hint: 'take the google or the smart link of the pass.',
  })
}

/** Follows redirects to the end, or to where Google Wallet would take over. */
async function open(link: string, platform: 'apple' | 'google'): Promise<{ answer?: Answer; location?: string }> {
  const headers = {
    'user-agent': userAgents[platform],
    accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    ...(platform === 'google' && { 'sec-ch-ua-platform': '"Android"' }),
  }
  let url = link
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    const answer = await call(url, { headers })
    const location = answer.header('location')
    if (answer.status < 300) return { answer }
    if (answer.status >= 400 || !location) throw refusal(answer)
    url = new URL(location, url).href
    if (url.startsWith(SAVE_PREFIX)) return { location: url }
  }
  throw new CliError(`${link} redirects without end`)
}

function refusal({ status, header }: Answer): CliError {
  const reason =
    status === 410
      ? 'The link was revoked, or its pass is over'
      : status === 404
        ? 'The link is not valid'
        : `The link was answered with ${status}`
  return new CliError(reason, {
    code: status === 410 ? 'LINK_REVOKED' : status === 404 ? 'LINK_INVALID' : 'FAILED',
    details: { status, correlationId: header('x-correlation-id') ?? null },
  })
}
