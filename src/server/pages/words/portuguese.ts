import type { PageWords } from '../page-words.ts'

/** Portuguese: see PageWords. */
export const portuguese: PageWords = {
  addTo: 'Adicionar à {wallet}',
  share: 'Adicione este passe à {wallet}.',
  or: '{wallet} ou à {other}',
  sandbox: {
    all: 'SANDBOX – não é um passe real: nenhum telefone o aceita',
    one: 'SANDBOX – não é um passe real na {wallet}: nenhum {phone} o aceita',
  },
  androidPhone: 'telefone Android',
  validUntil: 'Válido até {time}',
  addToCalendar: 'Adicionar ao calendário',
  more: 'Mais sobre este passe',
  state: { ready: 'Pronto', preparing: 'Em preparação' },
  inApp: {
    title: 'Abra no navegador:',
    text: 'esta aplicação pode não conseguir adicionar passes. Veja no menu dela ou copie o link.',
    address: 'Link para esta página',
    copy: 'Copiar link',
    copied: 'O link foi copiado.',
  },
  phone: {
    code: 'Código QR do endereço desta página',
    title: 'Continue no telemóvel',
    text: 'Leia este código com a câmara.',
  },
  issuedBy: 'Emitido por {organization}',
  reference: 'Referência: {reference}',
  problems: {
    revoked: {
      title: 'Este link foi retirado',
      what: 'Quem emitiu o passe encerrou este link, que já não serve para o adicionar. Um passe que já esteja numa carteira não é afetado.',
      advice: 'Se ainda precisa do passe, peça um novo link a quem o enviou.',
    },
    void: {
      title: 'Este passe foi cancelado',
      what: 'Quem emitiu o passe cancelou-o, por isso já não pode ser adicionado nem usado.',
      advice: 'Se não esperava isto, pergunte a quem o enviou.',
    },
    failed: {
      title: 'Não foi possível criar este passe',
      what: 'Algo correu mal na preparação do passe, por isso ainda não há nada para adicionar. A culpa não é sua.',
      advice: 'Avise quem enviou o link. Depois de corrigido, este mesmo link volta a funcionar.',
    },
    expired: {
      title: 'Este passe expirou',
      what: 'O período de validade deste passe terminou, por isso já não pode ser adicionado.',
      advice: 'Se acha que ainda devia ser válido, pergunte a quem o enviou.',
    },
    suspended: {
      title: 'Este link está fechado por agora',
      what: 'De momento não é possível adicionar passes deste emissor. Um passe que já esteja numa carteira não é afetado.',
      advice: 'Tente este mesmo link mais tarde ou pergunte a quem o enviou.',
    },
    linkExpired: {
      title: 'Este link expirou',
      what: 'Os links para adicionar um passe funcionam durante um tempo limitado, e o deste terminou.',
      advice: 'Peça um novo link a quem o enviou.',
    },
    malformed: {
      title: 'Este link não está completo',
      what: 'Falta uma parte do endereço ou foi alterada; os links longos são por vezes cortados nas mensagens.',
      advice: 'Abra de novo o link a partir da mensagem ou copie-o por inteiro. Se não resultar, peça um novo.',
    },
    platform: {
      title: 'Esta carteira não está disponível',
      what: 'O passe já não pode ser adicionado a este tipo de carteira.',
      advice: 'Pergunte a quem enviou o link por outra forma de obter o passe.',
    },
    unknown: {
      title: 'Este link não é válido',
      what: 'Não leva a nenhum passe. Pode ter sido mal escrito ou alterado pelo caminho.',
      advice: 'Abra de novo o link a partir da mensagem. Se não resultar, peça um novo a quem o enviou.',
    },
    busy: {
      title: 'Demasiadas visitas ao mesmo tempo',
      what: 'Foram abertos a partir da sua rede mais links do que podem ser atendidos agora.',
      advice: 'Espere alguns segundos e recarregue esta página.',
    },
    fault: {
      title: 'O passe não pode ser mostrado agora',
      what: 'Algo não está a funcionar do nosso lado. O seu link e o seu passe não são afetados.',
      advice: 'Recarregue esta página dentro de um minuto.',
    },
    refused: {
      title: 'Este passe não pode ser adicionado à {wallet}',
      what: 'A {wallet} não o aceita como está. A culpa não é sua, e tentar de novo não vai ajudar.',
      advice: 'Avise quem enviou o link. Depois de corrigido, este mesmo link volta a funcionar.',
    },
  },
}
