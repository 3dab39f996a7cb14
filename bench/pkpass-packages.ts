import { randomBytes } from 'node:crypto'
import sharp from 'sharp'
import type { Definition, ImageRole } from '../src/core/contract/schemas/definition.ts'
import type { WalletPass } from '../src/wallets/wallet.ts'
import { parseDefinition } from '../test/support/definitions.ts'
import { built } from './support/built.ts'

const { renderCard } = await built<typeof import('../src/core/rules/display/card.ts')>('core/rules/display/card.js')
const { otherLanguages } = await built<typeof import('../src/core/rules/template/definition-languages.ts')>(
  'core/rules/template/definition-languages.js',
)
const { makeFiles } = await built<typeof import('../src/server/images/make-files.ts')>('server/images/make-files.js')
const { parseAppleIdentity } = await built<typeof import('../src/wallets/apple/apple-identity.ts')>(
  'wallets/apple/apple-identity.js',
)
const { createAppleWallet } = await built<typeof import('../src/wallets/apple/apple-wallet.ts')>(
  'wallets/apple/apple-wallet.js',
)
const { createSandboxApple } = await built<typeof import('../src/wallets/sandbox/apple/certificates.ts')>(
  'wallets/sandbox/apple/certificates.js',
)

type Pictures = Partial<Record<ImageRole, [width: number, height: number]>>

/** Packages with images of noise, which cannot be compressed, so that the packages have the sizes in their names. */
export const packages: { name: string; boundBySigning: boolean; pictures: Pictures }[] = [
  { name: '36 KB', boundBySigning: true, pictures: { icon: [76, 76], logo: [75, 50] } },
  {
    name: '120 KB',
    boundBySigning: true,
    pictures: { icon: [114, 114], logo: [160, 50], strip: [70, 60], thumbnail: [90, 90] },
  },
  {
    name: '570 KB',
    boundBySigning: false,
    pictures: { icon: [114, 114], logo: [160, 50], strip: [375, 144], thumbnail: [270, 270] },
  },
]

/** Creates a wallet with a sandbox identity, and functions that return passes with the pictures of a package. */
export async function createBenchWallet(at: Date) {
  const chain = await createSandboxApple({
    passTypeIdentifier: 'pass.com.example.bench',
    teamIdentifier: 'BENCH12345',
    at,
  })
  const identity = parseAppleIdentity(
    {
      certificate: { source: 'sandbox', pem: chain.certificatePem },
      key: { source: 'sandbox', pem: chain.keyPem },
      wwdr: { source: 'sandbox', pem: chain.wwdrPem },
    },
    at,
  )
  const wallet = createAppleWallet({
    identity,
    webServiceUrl: 'https://passes.example.com/apple',
    async loadImageFiles(id, sizes) {
      if (id.startsWith(PHOTO)) return photo
      const [name, role] = id.split('/') as [string, ImageRole]
      const picture = await noise(...packages.find((each) => each.name === name)!.pictures[role]!)
      return (await makeFiles(picture, sizes)).files
    },
  })
  // Create the files once, as an upload does.
  const photo = (await makeFiles(await noise(120, 120), thumbnailSizes)).files
  return { wallet, chain, passOf, passOfHolder, passInLanguages }
}

const PHOTO = 'photo/'
const thumbnailSizes = ([1, 2, 3] as const).map((scale) => ({ width: 90, height: 90, scale }))

/**
 * Creates a pass of the package with a photo that no other pass has, so that no file of the photo was in an earlier
 * package.
 */
function passOfHolder(name: string, holder: number): WalletPass {
  const pass = passOf(name)
  const images = { ...pass.card.images, thumbnail: `${PHOTO}${holder}` }
  return { ...pass, card: { ...pass.card, images, ownImages: ['thumbnail'] } }
}

/** Creates a pass of the package in five languages for a given holder, whose texts must be rendered each time. */
function passInLanguages(name: string, holder: number): WalletPass {
  const pass = passOf(name)
  const cardOf = (shown: Definition) =>
    renderCard({
      passType: 'generic',
      definition: shown,
      scope: new Map([['holder', `Guest ${holder}`]]),
      expiresAt: null,
      voided: false,
    })
  const { images } = pass.card
  return {
    ...pass,
    card: { ...cardOf(inFive), images },
    translations: otherLanguages(inFive).map((one) => ({ ...cardOf(one), images })),
  }
}

function passOf(name: string): WalletPass {
  const { pictures } = packages.find((each) => each.name === name)!
  const images = Object.fromEntries(Object.keys(pictures).map((role) => [role, `${name}/${role}`]))
  const card = {
    ...renderCard({ passType: 'generic', definition, scope: new Map(), expiresAt: null, voided: false }),
    images,
  }
  return {
    id: '01982f3e-0000-7000-8000-000000000001',
    templateId: '01982f3e-0000-7000-8000-000000000002',
    templateVersion: 1,
    authenticationToken: 'token-of-at-least-16-characters',
    card,
    templateCard: card,
  }
}

const field = (key: string, value: string) => ({ key, label: key, value })

const definition = parseDefinition({
  design: {
    organizationName: 'Example',
    description: 'A pass to measure with',
    logoText: 'Example',
    colors: { background: '#1a2b3c', foreground: '#ffffff', label: '#aabbcc' },
    fields: {
      primary: [field('name', 'Ada Lovelace')],
      secondary: [field('seat', '12 A'), field('gate', 'North')],
      auxiliary: [field('date', '2026-08-01')],
      back: [field('terms', 'Bring this pass with you.')],
    },
    barcode: { message: 'ABCDEFGH234567' },
  },
})

const said = (text: string) => Object.fromEntries(languages.map((language) => [language, `${text} (${language})`]))
const languages = ['en', 'de', 'fr', 'ar', 'ja']

const inFive = parseDefinition({
  languages: { default: 'en', others: languages.slice(1) },
  variables: [{ name: 'holder', label: 'Holder' }],
  design: {
    organizationName: said('Example'),
    description: said('A pass to measure with'),
    logoText: said('Example'),
    fields: {
      primary: [{ key: 'name', label: said('Name'), value: '{{holder}}' }],
      secondary: [
        { key: 'seat', label: said('Seat'), value: '12 A' },
        { key: 'gate', label: said('Gate'), value: said('North') },
      ],
      auxiliary: [{ key: 'date', label: said('Date'), value: '2026-08-01' }],
      back: [{ key: 'terms', label: said('Terms'), value: said('Bring this pass with you, {{holder}}.') }],
    },
    barcode: { message: 'ABCDEFGH234567' },
  },
})

/** Creates a picture that cannot be compressed. */
export function noise(width: number, height: number): Promise<Buffer> {
  const raw = { width, height, channels: 3 as const }
  return sharp(randomBytes(width * height * 3), { raw })
    .png()
    .toBuffer()
}
