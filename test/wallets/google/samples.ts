import { generateKeyPairSync } from 'node:crypto'
import type { DefinitionInput, GoogleKind, PassType } from '../../../src/core/contract/schemas/definition.ts'
import { type Card, renderCard } from '../../../src/core/rules/display/card.ts'
import { exampleScope } from '../../../src/core/rules/template/resolve.ts'
import type { GoogleIdentity } from '../../../src/wallets/google/google-identity.ts'
import type { WalletPass } from '../../../src/wallets/wallet.ts'
import { parseDefinition } from '../../support/definitions.ts'

export const at = new Date('2026-03-01T12:00:00Z')
export const publicUrl = 'https://passes.example.com'

export const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })

export const identity: GoogleIdentity = {
  issuerId: '3388000000012345678',
  clientEmail: 'wallet-passes-production@a-rather-long-project-name.iam.gserviceaccount.com',
  privateKey,
  privateKeyId: '0123456789abcdef0123456789abcdef01234567',
}

export const logo = '00000000-0000-8000-8000-000000000001'
export const hero = '00000000-0000-8000-8000-000000000002'

const field = (key: string, value = `value of ${key}`, label = `label of ${key}`) => ({ key, label, value })

export const design: DefinitionInput['design'] = {
  organizationName: 'Example Arts',
  description: 'Season ticket',
  logoText: 'EXAMPLE',
  colors: { background: '#1a2b3c' },
  images: { logo, hero },
  fields: {
    header: [field('gate')],
    primary: [field('name', 'Ada Lovelace', 'Guest'), field('seat')],
    secondary: [field('row'), field('block'), field('door'), field('level')],
    auxiliary: [field('price')],
    back: [field('terms')],
  },
  barcode: { format: 'qr', message: 'CODE-1', altText: 'Code 1' },
  locations: [{ latitude: 47.4, longitude: 8.5, relevantText: 'Welcome' }],
  links: [{ label: 'Website', url: 'https://example.com/' }],
}

export interface CardOptions extends Partial<Pick<Card, 'expiresAt' | 'voided'>> {
  passType?: PassType
  design?: Partial<DefinitionInput['design']>
  google?: DefinitionInput['google']
  apple?: DefinitionInput['apple']
  balances?: DefinitionInput['balances']
}

function card(options: CardOptions = {}): Card {
  const { passType = 'generic', google, apple, balances, expiresAt = null, voided = false } = options
  const definition = parseDefinition({ design: { ...design, ...options.design }, google, apple, balances })
  return renderCard({ passType, definition, scope: exampleScope(definition), expiresAt, voided })
}

export function pass(options: CardOptions = {}): WalletPass {
  const rendered = card(options)
  return {
    id: '018f2f5e-7c1a-7000-bfff-ba9876543210',
    templateId: '018f2f5e-7c1a-7000-8000-0123456789ab',
    templateVersion: 2,
    authenticationToken: 'never-for-google',
    card: rendered,
    templateCard: rendered,
  }
}

export const allKinds: GoogleKind[] = ['generic', 'eventTicket', 'loyalty', 'offer', 'giftCard', 'flight', 'transit']

/** The overrides that a flight needs, because a neutral card has no fields for it. */
export const flight: NonNullable<DefinitionInput['google']> = {
  kind: 'flight',
  class: {
    origin: { airportIataCode: 'ZRH' },
    destination: { airportIataCode: 'LHR' },
    flightHeader: { carrier: { carrierIataCode: 'LX' }, flightNumber: '316' },
    localScheduledDepartureDateTime: '2026-03-02T07:00:00',
  },
  object: { passengerName: 'Ada Lovelace', reservationInfo: { confirmationCode: 'ABC123' } },
}

export const googleOf = (kind: GoogleKind) => (kind === 'flight' ? flight : { kind })
