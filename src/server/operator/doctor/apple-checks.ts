import type { KeyObject, X509Certificate } from 'node:crypto'
import {
  type AppleCredentials,
  assertIssued,
  assertKeyMatches,
  assertValidity,
  parseAppleIdentity,
  parseCertificate,
  parseKey,
  readSubject,
  toParsed,
} from '../../../wallets/apple/apple-identity.ts'
import { type ApplePushOptions, createApplePush } from '../../../wallets/apple/push.ts'
import { daysLeft, WARNING_DAYS } from '../../certificates.ts'
import type { Config } from '../../config.ts'
import { readAppleCredentials } from '../../identities/credentials.ts'
import { type Check, examine, type Finding, failed, passed, reasonToSkip, skipped } from './check.ts'

/** The APNs server. Default: Apple's, which only tests and the sandbox replace. */
export type PushOptions = Pick<ApplePushOptions, 'server'>

const RENEW = "renew it in Apple's developer portal, and give the new file: --apple-certificate and --apple-key"
const DOWNLOAD = 'curl -O https://www.apple.com/certificateauthority/AppleWWDRCAG4.cer, and give it: --apple-wwdr'
const ALLOW_CONNECTIONS = 'allow connections to api.push.apple.com, port 443'
const GIVE = 'give the files of one pass type: --apple-certificate, --apple-key and --apple-wwdr'

/** A device token that no phone has. If APNs rejects the token, APNs was reached and accepted the certificate. */
const MADE_UP_TOKEN = 'made-up-by-doctor'

/** Checks the certificate chain that signs passes, and whether APNs accepts it. */
export async function checkApple(config: Config, at: Date, options: PushOptions = {}): Promise<Check[]> {
  const reason = reasonToSkip(config, 'apple')
  if (reason !== undefined) {
    return examine('Apple', { Certificates: { fix: GIVE, check: () => skipped(reason) } })
  }
  let read: Files | undefined
  const ofFiles = await examine('Apple', {
    Files: {
      fix: GIVE,
      check() {
        const credentials = readAppleCredentials(config)
        read = {
          credentials,
          leaf: parseCertificate(credentials.certificate, 'pass certificate'),
          wwdr: parseCertificate(credentials.wwdr, 'WWDR certificate'),
          key: parseKey(credentials.key),
        }
        return passed('certificate, key and WWDR certificate can be read')
      },
    },
  })
  const ofContents = await examine<Files>(
    'Apple',
    {
      Key: {
        fix: GIVE,
        check({ leaf, key, credentials }) {
          assertKeyMatches(leaf, key, credentials)
          return passed('belongs to the certificate')
        },
      },
      'Pass type and team': {
        fix: 'correct --apple-pass-type and --apple-team, or give the certificate of that pass type',
        check({ leaf, credentials }) {
          const { passTypeIdentifier, teamIdentifier } = readSubject(leaf, credentials)
          return passed(`${passTypeIdentifier}, team ${teamIdentifier}`)
        },
      },
      WWDR: {
        fix: DOWNLOAD,
        check({ leaf, wwdr, credentials }) {
          assertIssued(leaf, wwdr, credentials)
          return checkIssuer(wwdr)
        },
      },
      'Pass certificate': {
        fix: RENEW,
        check: ({ leaf, credentials: { certificate } }) => checkEnd(leaf, 'pass certificate', certificate, at),
      },
      'WWDR expiry': {
        fix: DOWNLOAD,
        check: ({ wwdr, credentials }) => checkEnd(wwdr, 'WWDR certificate', credentials.wwdr, at),
      },
      APNs: { fix: ALLOW_CONNECTIONS, check: ({ credentials }) => tryPush(credentials, at, options) },
    },
    () => read ?? 'the files cannot be read',
  )
  return [...ofFiles, ...ofContents]
}

interface Files {
  credentials: AppleCredentials
  leaf: X509Certificate
  wwdr: X509Certificate
  key: KeyObject
}

/** Fails unless the WWDR certificate is generation G4, the only one that phones accept for passes. */
function checkIssuer(wwdr: X509Certificate): Finding {
  const name = wwdr.subject.replaceAll('\n', ', ')
  if (/^CN=Apple Worldwide Developer Relations/m.test(wwdr.subject) && /^OU=G4$/m.test(wwdr.subject)) {
    return passed('Apple WWDR G4 issued the certificate')
  }
  return failed(`The certificate was issued by "${name}", which is not Apple's WWDR G4: phones reject its passes.`)
}

function checkEnd(certificate: X509Certificate, what: string, { source }: { source: string }, at: Date): Finding {
  const parsed = toParsed(certificate)
  assertValidity(parsed, what, source, at)
  const left = `${daysLeft(parsed, at)} days left, until ${parsed.notAfter.toISOString()}`
  return daysLeft(parsed, at) < WARNING_DAYS ? failed(`Only ${left}.`) : passed(left)
}

async function tryPush(credentials: AppleCredentials, at: Date, options: PushOptions): Promise<Finding> {
  const push = createApplePush({ identity: parseAppleIdentity(credentials, at), ...options })
  try {
    const [result] = await push.send([MADE_UP_TOKEN])
    if (result?.outcome === 'gone')
      return passed(`accepted the certificate, and rejected a random device token (${result.reason})`)
    return failed(`APNs: ${result?.reason ?? 'no response'}`)
  } finally {
    await push.close()
  }
}
