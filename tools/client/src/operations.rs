//! The most common operations, with parameters in place of messages. All others: [`Client::call`].

use std::collections::BTreeMap;

use muster_wire::api::{
    Account, AccountCustom, AccountDevice, AccountEmail, AuthenticateCustomRequest, AuthenticateDeviceRequest,
    AuthenticateEmailRequest, DeleteStorageObjectId, DeleteStorageObjectsRequest, ListStorageObjectsRequest,
    ReadStorageObjectId, ReadStorageObjectsRequest, Rpc, Session, SessionLogoutRequest, SessionRefreshRequest,
    StorageObject, StorageObjectAck, StorageObjectList, UpdateAccountRequest, WriteStorageObject,
    WriteStorageObjectsRequest,
};

use crate::{Client, ClientError, Credentials, typed};

impl Client {
    /// Signs in by device id. `create` unset means true; an empty `username` lets the server choose.
    pub async fn authenticate_device(
        &self,
        id: &str,
        create: Option<bool>,
        username: &str,
    ) -> Result<Session, ClientError> {
        let account = Some(AccountDevice { id: id.to_owned(), ..AccountDevice::default() });
        let request = AuthenticateDeviceRequest { account, create, username: username.to_owned() };
        self.call::<typed::AuthenticateDevice>(Credentials::ServerKey, &request).await
    }

    /// Signs in by custom id, as [`Client::authenticate_device`].
    pub async fn authenticate_custom(
        &self,
        id: &str,
        create: Option<bool>,
        username: &str,
    ) -> Result<Session, ClientError> {
        let account = Some(AccountCustom { id: id.to_owned(), ..AccountCustom::default() });
        let request = AuthenticateCustomRequest { account, create, username: username.to_owned() };
        self.call::<typed::AuthenticateCustom>(Credentials::ServerKey, &request).await
    }

    /// Signs in by address and password; with an empty address by user name and password.
    pub async fn authenticate_email(
        &self,
        email: &str,
        password: &str,
        create: Option<bool>,
        username: &str,
    ) -> Result<Session, ClientError> {
        let account = AccountEmail { email: email.to_owned(), password: password.to_owned(), vars: BTreeMap::new() };
        let request = AuthenticateEmailRequest { account: Some(account), create, username: username.to_owned() };
        self.call::<typed::AuthenticateEmail>(Credentials::ServerKey, &request).await
    }

    /// Gets a new pair of tokens for a refresh token. Empty `vars` keep the old ones.
    pub async fn session_refresh(
        &self,
        refresh_token: &str,
        vars: BTreeMap<String, String>,
    ) -> Result<Session, ClientError> {
        let request = SessionRefreshRequest { token: refresh_token.to_owned(), vars };
        self.call::<typed::SessionRefresh>(Credentials::ServerKey, &request).await
    }

    /// Voids the session's own two tokens.
    pub async fn session_logout(&self, session: &Session) -> Result<(), ClientError> {
        let (token, refresh_token) = (session.token.clone(), session.refresh_token.clone());
        let request = SessionLogoutRequest { token, refresh_token };
        self.call_as::<typed::SessionLogout>(&session.token, &request).await
    }

    /// The caller's own account.
    pub async fn account(&self, session: &Session) -> Result<Account, ClientError> {
        self.call_as::<typed::GetAccount>(&session.token, &()).await
    }

    /// Changes the fields of the account that are set.
    pub async fn update_account(&self, session: &Session, request: &UpdateAccountRequest) -> Result<(), ClientError> {
        self.call_as::<typed::UpdateAccount>(&session.token, request).await
    }

    /// Deletes the caller's account.
    pub async fn delete_account(&self, session: &Session) -> Result<(), ClientError> {
        self.call_as::<typed::DeleteAccount>(&session.token, &()).await
    }

    /// Reads objects. Those that do not exist or may not be read are left out.
    pub async fn read_storage(
        &self,
        session: &Session,
        object_ids: Vec<ReadStorageObjectId>,
    ) -> Result<Vec<StorageObject>, ClientError> {
        let request = ReadStorageObjectsRequest { object_ids };
        Ok(self.call_as::<typed::ReadStorageObjects>(&session.token, &request).await?.objects)
    }

    /// Writes all objects or none.
    pub async fn write_storage(
        &self,
        session: &Session,
        objects: Vec<WriteStorageObject>,
    ) -> Result<Vec<StorageObjectAck>, ClientError> {
        let request = WriteStorageObjectsRequest { objects };
        Ok(self.call_as::<typed::WriteStorageObjects>(&session.token, &request).await?.acks)
    }

    /// Deletes all objects or none.
    pub async fn delete_storage(
        &self,
        session: &Session,
        object_ids: Vec<DeleteStorageObjectId>,
    ) -> Result<(), ClientError> {
        let request = DeleteStorageObjectsRequest { object_ids };
        self.call_as::<typed::DeleteStorageObjects>(&session.token, &request).await
    }

    /// Lists one page of a collection.
    pub async fn list_storage(
        &self,
        session: &Session,
        request: &ListStorageObjectsRequest,
    ) -> Result<StorageObjectList, ClientError> {
        self.call_as::<typed::ListStorageObjects>(&session.token, request).await
    }

    /// Calls a function of the game and returns its payload.
    pub async fn rpc(&self, credentials: Credentials<'_>, id: &str, payload: &str) -> Result<String, ClientError> {
        let request = Rpc { id: id.to_owned(), payload: payload.to_owned(), http_key: String::new() };
        Ok(self.call::<typed::RpcFunc>(credentials, &request).await?.payload)
    }
}
